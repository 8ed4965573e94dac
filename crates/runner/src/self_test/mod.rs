//! The repository's own tests, each file in its own sandbox.

mod junit;
mod suite;

pub use junit::{JunitError, TestCase, TestCounts, TestKind, read_junit};
pub use suite::{SuiteOptions, SuiteOutcome, run_test_files};
