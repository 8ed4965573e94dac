//! Transforms for problems that a reviewer would raise, with or without a failure.

mod defaults;
mod handlers;
mod imports;
mod lookups;
mod network;
mod none_guard;
mod paths;
mod patterns;
mod recursion;
mod registry;
mod resolved_names;
mod resources;
mod retry;
mod safety;
mod scope;
mod shell;
mod strings;
mod style;
mod time;

use super::{Cause, ProposalGain, SectionFailure, SourceRewrite, Transform};

pub use registry::of_review;
