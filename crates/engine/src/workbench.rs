//! Interface to the caller of the engine: scanning code, making calls and running tests.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use menace_analysis::scan::{RepositoryScan, ScanError};
use menace_model::inventory::Inventory;
use menace_model::{ErrorClass, ErrorDetails};
use menace_runner::{ArgumentSource, CallExecutor, GivenStub, PlannedPreset, TestFileOutcome};
use menace_sandbox::SandboxError;
use thiserror::Error;

/// Failures of menace itself. A failure of the code under test is never an error.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A sandbox failed.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// A run of calls failed.
    #[error("{0}")]
    Run(#[from] menace_runner::RunError),
    /// The database failed.
    #[error("{0}")]
    Store(#[from] menace_store::StoreError),
    /// The repository could not be scanned.
    #[error("failed to read the repository: {0}")]
    Scan(#[from] ScanError),
    /// Git could not be started.
    #[error("failed to start git {command}: {source}")]
    GitStart {
        /// Arguments of git.
        command: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A git command failed.
    #[error("git {command} failed: {problem}")]
    Git {
        /// Arguments of git.
        command: String,
        /// Error output of git.
        problem: String,
    },
    /// A proposal could not be serialized for the ledger.
    #[error("failed to serialize a proposal: {0}")]
    Serialize(#[source] serde_json::Error),
    /// A file could not be read or written.
    #[error("failed to {doing} {path}: {source}")]
    File {
        /// Verb of the failed operation, such as `read`.
        doing: &'static str,
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
}

impl ErrorDetails for EngineError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Sandbox(error) => error.class(),
            Self::Run(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Scan(error) => error.class(),
            Self::GitStart { .. } | Self::Git { .. } | Self::File { .. } => ErrorClass::Environment,
            Self::Serialize(_) => ErrorClass::Bug,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Sandbox(error) => error.hint(),
            Self::Run(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Scan(error) => error.hint(),
            Self::GitStart { .. } => Some("install git, or add it to PATH".into()),
            Self::Git { .. } | Self::File { .. } | Self::Serialize(_) => None,
        }
    }
}

/// Scans code, makes calls of it and runs its tests.
#[async_trait]
pub trait Workbench: Send + Sync {
    /// Scans the repository in a directory.
    fn scan(&self, root: &Path) -> Result<RepositoryScan, EngineError>;
    /// Starts an executor for calls of the code that is in the root of an inventory now.
    async fn executor(&self, inventory: &Inventory) -> Result<Arc<dyn CallExecutor>, EngineError>;
    /// Runs test files `times` times, with one time limit for all runs.
    async fn tests(
        &self,
        inventory: &Inventory,
        files: &[String],
        (times, within): (usize, Duration),
    ) -> Result<Vec<TestFileOutcome>, EngineError>;
    /// Useful number of concurrent calls.
    fn parallel(&self) -> usize;
}

/// Options for planning calls.
#[derive(Debug, Clone)]
pub struct CallPlanOptions {
    /// Presets; the baseline preset first.
    pub presets: Vec<PlannedPreset>,
    /// Stubs given by the user.
    pub given: Vec<GivenStub>,
    /// Source of the generated stubs.
    pub source: ArgumentSource,
    /// Time limit of a call.
    pub timeout: Duration,
    /// Paths of the modules to call; empty means all.
    pub modules: Vec<String>,
}

#[cfg(test)]
mod tests {
    use menace_runner::RunError;

    use super::*;

    #[test]
    fn wrapped_errors_give_their_class_and_hint_and_git_is_the_environment() {
        let refused = || SandboxError::Refused { problem: "no".into(), hint: "do".into() };
        let git = |problem: &str| EngineError::Git { command: "status".into(), problem: problem.into() };
        let cases = [
            (EngineError::Sandbox(refused()), ErrorClass::Conflict, Some("do")),
            (EngineError::Run(RunError::Sandbox(refused())), ErrorClass::Conflict, Some("do")),
            (EngineError::Run(RunError::PlanChanged), ErrorClass::Conflict, Some("start a new run")),
            (
                EngineError::Scan(ScanError::NotADirectory { path: "/x".into() }),
                ErrorClass::Usage,
                Some("pass the directory that contains it"),
            ),
            (git("fatal: user not found"), ErrorClass::Environment, None),
        ];
        for (error, class, hint) in cases {
            let text = error.to_string();
            assert_eq!((error.class(), error.hint().as_deref()), (class, hint), "{text}");
            assert!(!text.contains('\n') && !text.contains("hint:"), "{text}");
        }
    }
}
