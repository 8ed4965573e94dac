//! Calls of sections: what they are given, what they take, and what came of them.

mod outcome;
mod python;
mod recipe;
mod shape;
mod source;

pub use outcome::{Facts, OutcomeKind};
pub use recipe::{Many, Recipe, Written};
pub use shape::{Described, Field, ParameterShape, Shape};
pub use source::{HELPERS, Needs, literal, path};
