//! Adaptation of presets to the metrics of earlier cycles, by fixed rules or by a policy that learns. Nothing here reads a
//! clock, and every random choice derives from the seed: the same history leads to the same presets.

mod adapt;
mod heuristics;
mod keys;
mod policy;
mod policy_file;
mod trend;

#[cfg(test)]
mod adaptation_tests;

pub use adapt::{Adapt, Adapted, Decision, Machine, Move, Moves, adapt, adapt_by};
pub use heuristics::Heuristics;
pub use policy::{Action, Policy, State, Turn};
pub use policy_file::{PolicyError, Strategy};
pub use trend::{Direction, Judgement, Little, Sign, Trend, Unknown};
