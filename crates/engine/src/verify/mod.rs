//! Verification of proposals. A proposal is kept only if every condition is met; the verdict records each measurement.

mod conditions;
mod files;
mod findings;
mod held_out;
mod pace;
mod paired;
mod regression;
mod suites;
mod verifier;

pub use conditions::{Condition, Conditions, Regression, State, Verdict};
pub use files::{is_protected, protected};
pub use held_out::Shown;
pub use suites::Suites;
pub use verifier::Verifier;
