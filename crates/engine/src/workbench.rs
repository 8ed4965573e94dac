//! What the loop needs from outside: somebody who reads code, makes calls and runs tests.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use menace_analysis::scan::Scan;
use menace_model::inventory::Inventory;
use menace_runner::{Execute, GivenStub, PlannedPreset, Source, SuiteOutcome};
use menace_sandbox::SandboxError;
use thiserror::Error;

/// What went wrong around the loop. What code does is never an error.
#[derive(Debug, Error)]
pub enum EngineError {
    /// Our machinery failed.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// A run could not be made.
    #[error("{0}")]
    Run(#[from] menace_runner::RunError),
    /// What happened could not be written down.
    #[error("{0}")]
    Store(#[from] menace_store::StoreError),
    /// A repository could not be read.
    #[error("failed to read the repository: {0}")]
    Scan(String),
    /// git refused.
    #[error("git {command} failed: {problem}")]
    Git {
        /// What was asked.
        command: String,
        /// What it said.
        problem: String,
    },
    /// A file could not be read or written.
    #[error("failed to {doing} {path}: {source}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
}

/// Reads code, makes calls of it, runs its tests.
#[async_trait]
pub trait Workbench: Send + Sync {
    /// Reads the repository in a directory.
    fn scan(&self, root: &Path) -> Result<Scan, EngineError>;
    /// Somebody who makes calls of the code that is in the root of an inventory now.
    async fn executor(&self, inventory: &Inventory) -> Result<Arc<dyn Execute>, EngineError>;
    /// Runs test files of the code in a directory so many times, all of that within a time.
    async fn tests(
        &self,
        inventory: &Inventory,
        files: &[String],
        (times, within): (usize, Duration),
    ) -> Result<Vec<SuiteOutcome>, EngineError>;
    /// How many calls at once are worth it.
    fn parallel(&self) -> usize;
}

/// How calls are planned.
#[derive(Debug, Clone)]
pub struct Calls {
    /// What is done to them; the baseline first.
    pub presets: Vec<PlannedPreset>,
    /// Arguments that somebody gave.
    pub given: Vec<GivenStub>,
    /// What the others are chosen from.
    pub source: Source,
    /// How long one may take.
    pub timeout: Duration,
    /// Only these modules, by path; none means all.
    pub modules: Vec<String>,
}
