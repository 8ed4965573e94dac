//! Truth adapter: learned correction from metrics to observed ROI, with a warning when it is unreliable.

mod adapter;
mod boosting;
mod ridge;

pub use adapter::{Adapted, Drift, TruthAdapter, TruthError};
pub use boosting::Boosting;
pub use ridge::Ridge;
