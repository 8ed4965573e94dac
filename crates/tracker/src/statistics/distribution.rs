//! Distribution functions of the tests, computed by statrs.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// Cumulative distribution function of the standard normal distribution.
pub fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// Quantile of the standard normal distribution.
pub fn normal_quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

/// Survival function of Student's t distribution.
pub(crate) fn student_above(x: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |distribution| distribution.sf(x))
}

/// Quantile of Student's t distribution; NaN for invalid degrees of freedom.
pub fn student_quantile(share: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |distribution| distribution.inverse_cdf(share))
}

/// Survival function of the F distribution.
pub(crate) fn fisher_above(x: f64, numerator: f64, denominator: f64) -> f64 {
    FisherSnedecor::new(numerator, denominator).map_or(f64::NAN, |distribution| distribution.sf(x))
}
