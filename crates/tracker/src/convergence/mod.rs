//! When more is not worth its cost. Nothing stops because little was seen: what stops has to be shown.

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
