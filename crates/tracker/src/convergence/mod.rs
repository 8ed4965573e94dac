//! Convergence: tests that further cycles are not worth their cost. Too little data never ends a run; convergence must be
//! shown.

mod diminishing;
mod entropy;
mod next_cycle;
mod synergy;
mod threshold;

#[cfg(test)]
mod convergence_tests;

pub use diminishing::{GainTrend, diminishing};
pub use entropy::{EntropyPlateau, EntropyPlateauRules, entropy_plateau};
pub use next_cycle::{ProposalYield, next_cycle_gain};
pub(crate) use synergy::moving_average;
pub use synergy::{ConvergenceCheck, SynergyConvergence, SynergyConvergenceRules, synergy_converged};
pub use threshold::{adaptive_threshold, reliability, scaled_tolerance};
