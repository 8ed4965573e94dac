//! Verification of proposals. A proposal is kept only if every condition is met; the verdict records each measurement.

mod conditions;
mod durations;
mod findings;
mod held_out;
mod paired_calls;
mod protected_files;
mod regression_test;
mod suites;
mod verifier;

pub use conditions::ConditionChecks;
pub use held_out::ReproducingCall;
pub use menace_model::patches::{Condition, ConditionState, RegressionTest, Verdict};
pub use protected_files::{is_protected, protected};
pub use suites::BaselineSuites;
pub use verifier::ProposalVerifier;
