//! Self-tests: the tests of a repository in sandboxes, and calls of modules without tests.

mod candidates;
mod integrate;
mod round;
mod state;
mod totals;

use std::path::PathBuf;
use std::time::Duration;

pub(crate) use candidates::left_out;
pub use round::{ModuleTestResult, SelfTestRound, SmokeTestResult, run};

/// Request for a round of self-tests.
#[derive(Debug, Clone)]
pub struct SelfTestRequest {
    /// The repository; `None` for that of the settings.
    pub repository: Option<PathBuf>,
    /// Modules to test with their dependencies, by path or name; empty for all.
    pub paths: Vec<String>,
    /// Timeout of a test file.
    pub timeout: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    /// Python interpreter.
    pub python: Option<String>,
}
