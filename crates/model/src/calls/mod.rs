//! Calls of sections: inputs, parameter types and outcomes.

mod outcome;
mod recipe;
mod recipe_display;
mod recipe_source;
mod shape;

pub use outcome::{OutcomeKind, ReportedException};
pub use recipe::{CollectionKind, Recipe, TextValueKind};
pub use recipe_source::{HELPERS, SourceRequirements, python_literal, qualified_source};
pub use shape::{ParameterShape, SectionDescription, TypedDictField, ValueShape};
