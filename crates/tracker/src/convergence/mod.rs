//! Convergence: tests that further cycles are not worth their cost. Too little data never ends a run; convergence must be
//! shown.

mod diminishing;
mod entropy;
mod stop;
mod synergy;
mod threshold;

#[cfg(test)]
mod convergence_tests;

pub use diminishing::{Diminishing, diminishing};
pub use entropy::{EntropyRules, Plateau, entropy_plateau};
pub use stop::{Prospect, worth_another_cycle};
pub(crate) use synergy::moving_average;
pub use synergy::{Check, SynergyRules, SynergyVerdict, synergy_converged};
pub use threshold::{adaptive_threshold, reliability, scaled_tolerance};
