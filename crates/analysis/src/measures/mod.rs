//! Static measures of one file.

mod cognitive;
mod cyclomatic;
mod entropy;
mod halstead;
mod lines;
mod maintainability;

pub(crate) use cognitive::cognitive_complexities;
pub(crate) use cyclomatic::{ModuleComplexity, own_complexity};
pub(crate) use entropy::token_entropy;
pub(crate) use halstead::halstead;
pub(crate) use lines::count_lines;
pub(crate) use maintainability::maintainability_index;
