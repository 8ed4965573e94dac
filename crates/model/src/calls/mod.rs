//! Calls of sections: inputs, parameter types, specifications and outcomes.

mod outcome;
mod raw_outcome;
mod recipe;
mod recipe_display;
mod recipe_source;
mod shape;
mod spec;

pub use outcome::{OutcomeKind, ReportedException};
pub use raw_outcome::RawOutcome;
pub use recipe::{CollectionKind, Recipe, TextValueKind};
pub use recipe_source::{HELPERS, SourceRequirements, python_literal, qualified_source};
pub use shape::{ParameterShape, SectionDescription, TypedDictField, ValueShape};
pub use spec::{CallEnvironment, CallLimits, CallSpec};
