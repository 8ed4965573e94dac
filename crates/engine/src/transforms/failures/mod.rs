//! Transforms that answer a failure of a call.

mod annotation;
mod branches;
mod charset;
mod errors;
mod guards;
mod list;
mod locks;
mod loops;
mod naming;
mod numbers;
mod parts;
mod pattern;
mod records;
mod regex;
mod shared;
mod site;
mod text;
mod tree;
mod types;
mod wording;

use super::{Cause, Failed, Gain, Rewrite, Transform};

pub use list::of_failures;
