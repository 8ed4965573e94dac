//! Calls of sections: inputs, parameter types and outcomes.

mod outcome;
mod python;
mod recipe;
mod shape;
mod source;

pub use outcome::{Facts, OutcomeKind};
pub use recipe::{Many, Recipe, Written};
pub use shape::{Described, Field, ParameterShape, Shape};
pub use source::{HELPERS, Needs, literal, path};
