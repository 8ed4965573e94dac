//! The distributions that tests ask. Calculated by statrs; here are the forms in which they are asked.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// The share of a normal distribution below a value.
pub fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// The value below which a share of a normal distribution is.
pub fn normal_quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

/// The share of Student's distribution above a value.
pub(crate) fn student_above(x: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |distribution| distribution.sf(x))
}

/// The value below which a share of Student's distribution is; not a number for one that does not exist.
pub fn student_quantile(share: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |distribution| distribution.inverse_cdf(share))
}

/// The share of the distribution of Fisher and Snedecor above a value.
pub(crate) fn fisher_above(x: f64, numerator: f64, denominator: f64) -> f64 {
    FisherSnedecor::new(numerator, denominator).map_or(f64::NAN, |distribution| distribution.sf(x))
}
