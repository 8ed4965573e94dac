//! Transforms for problems that a reviewer would raise, with or without a failure.

mod defaults;
mod handlers;
mod imports;
mod list;
mod look;
mod lookups;
mod names;
mod network;
mod none;
mod paths;
mod patterns;
mod recursion;
mod resources;
mod retry;
mod safety;
mod shell;
mod strings;
mod style;
mod time;

use super::{Cause, Failed, Gain, Rewrite, Transform};

pub use list::of_review;
