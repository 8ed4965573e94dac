//! Statistical tests, estimates and distributions.

mod adf;
mod correlation;
mod describe;
mod distribution;
mod kolmogorov_smirnov;
mod least_squares;
mod levene;
mod psi;
mod student;
mod wilson;

#[cfg(test)]
mod reference_tests;

#[cfg(test)]
pub(crate) use reference_tests::cases;

pub use adf::{DickeyFullerTest, LagSelection, adf};
pub use correlation::{PearsonCorrelation, correlation, slope};
pub use describe::{is_constant, mean, median, quantile, standard_deviation, variance, weighted_deviation};
pub use distribution::{normal_cdf, normal_quantile, student_quantile};
pub use kolmogorov_smirnov::{KolmogorovSmirnov, kolmogorov_smirnov};
pub use least_squares::{LeastSquaresFit, least_squares};
pub use levene::levene;
pub use psi::population_stability;
pub use student::{SignificanceTest, equivalence_to_zero, one_sample, paired, welch};
pub use wilson::wilson;
