//! How predictions of ROI become what is really seen: models that are fitted to pairs of both, and that say when they do not
//! know.

mod adapter;
mod boosting;
mod ridge;

pub use adapter::{Adapted, Drift, TruthAdapter, TruthError};
pub use boosting::Boosting;
pub use ridge::Ridge;
