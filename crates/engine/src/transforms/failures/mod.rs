//! Transforms that answer a failure of a call.

mod annotation;
mod argument_types;
mod branches;
mod charset;
mod errors;
mod evaluated_exprs;
mod exception_names;
mod guards;
mod locks;
mod loops;
mod messages;
mod numbers;
mod records;
mod regex;
mod regex_syntax;
mod registry;
mod shared_state;
mod site;
mod syntax_queries;
mod text;

use super::{Cause, ProposalGain, SectionFailure, SourceRewrite, Transform};

pub use registry::of_failures;
