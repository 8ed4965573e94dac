//! Truth adapter: learned correction from metrics to observed ROI, with a warning when it is unreliable.

mod adapter;
mod boosting;
mod ridge;

pub use adapter::{FeatureDrift, TruthAdapter, TruthAdapterError, TruthPrediction};
pub use boosting::GradientBoosting;
pub use ridge::RidgeRegression;
