//! The repository's own tests, each file in its own sandbox.

mod junit;
mod suite;

pub use junit::{JunitError, TestCase, TestCounts, TestOutcome, read_junit};
pub use suite::{TestFileOptions, TestFileOutcome, run_test_files};
