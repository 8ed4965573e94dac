//! Tests of the repository itself, each file in a sandbox of its own.

mod junit;
mod suite;

pub use junit::{JunitError, TestCase, TestCounts, TestKind, read_junit};
pub use suite::{SuiteOptions, SuiteOutcome, run_test_files};
