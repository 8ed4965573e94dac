//! Errors of the use cases.

use std::io;
use std::path::{Path, PathBuf};

use menace_analysis::orphans::OrphanFileError;
use menace_analysis::scan::ScanError;
use menace_engine::adaptation::AdaptationPolicyError;
use menace_engine::memory::MemoryError;
use menace_engine::proposers::llm::{ModelError, PromptTemplateError};
use menace_engine::workbench::EngineError;
use menace_model::ids::IdError;
use menace_model::presets::PresetError;
use menace_model::{ErrorClass, ErrorDetails};
use menace_runner::{RunError, WorkflowError};
use menace_sandbox::SandboxError;
use menace_store::StoreError;
use menace_tracker::workflows::WorkflowGraphError;
use thiserror::Error;

use crate::RequestError;

/// Error of a use case.
#[derive(Debug, Error)]
pub enum AppError {
    /// The request cannot be carried out.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The repository could not be scanned.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// The database failed, or has no such entry.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A run of calls failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A workflow failed or does not fit the repository.
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
    /// A workflow is not in the graph of workflows.
    #[error(transparent)]
    WorkflowGraph(#[from] WorkflowGraphError),
    /// Proposing or verifying a patch failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A preset is invalid.
    #[error(transparent)]
    Preset(#[from] PresetError),
    /// Presets from a file or a variable are invalid.
    #[error("invalid presets in {origin}: {source}")]
    Presets {
        /// Path of the file, or name of the variable.
        origin: String,
        /// The problem.
        source: PresetError,
    },
    /// The adaptation policy is unreadable or belongs to another strategy.
    #[error(transparent)]
    Policy(#[from] AdaptationPolicyError),
    /// The language model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A prompt template is invalid.
    #[error(transparent)]
    PromptTemplate(#[from] PromptTemplateError),
    /// The memory failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// An id is malformed.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A file or directory operation failed.
    #[error("failed to {action} {path}: {source}")]
    File {
        /// The operation, as a verb.
        action: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The files of orphans could not be written.
    #[error(transparent)]
    OrphanFiles(#[from] OrphanFileError),
    /// A file was not written by menace, or by an incompatible version.
    #[error("{path} was not written by menace: {problem}")]
    ForeignFile {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// A stored record cannot be decoded.
    #[error("run {run} was stored by an incompatible version of menace: {source}")]
    StoredRun {
        /// Id of the run.
        run: String,
        /// Error of the decoder.
        source: serde_json::Error,
    },
    /// An operation of the operating system failed.
    #[error("failed to {action}: {source}")]
    Host {
        /// The operation.
        action: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A value could not be encoded as JSON.
    #[error("failed to encode JSON: {0}")]
    Encode(#[source] serde_json::Error),
    /// A reply of the harness does not have the documented form.
    #[error("unexpected reply of the harness: {0}")]
    HarnessReply(String),
    /// A background task panicked.
    #[error("a background task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

impl From<serde_json::Error> for AppError {
    fn from(error: serde_json::Error) -> Self {
        Self::Encode(error)
    }
}

impl ErrorDetails for AppError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Request(error) => error.class(),
            Self::Scan(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Sandbox(error) => error.class(),
            Self::Run(error) => error.class(),
            Self::Workflow(error) => error.class(),
            Self::WorkflowGraph(error) => error.class(),
            Self::Engine(error) => error.class(),
            Self::Preset(error) | Self::Presets { source: error, .. } => error.class(),
            Self::Policy(error) => error.class(),
            Self::Model(error) => error.class(),
            Self::PromptTemplate(error) => error.class(),
            Self::OrphanFiles(error) => error.class(),
            Self::Memory(error) => error.class(),
            Self::Id(error) => error.class(),
            Self::File { .. } | Self::Host { .. } | Self::ForeignFile { .. } => ErrorClass::Environment,
            Self::StoredRun { .. } => ErrorClass::Conflict,
            Self::Encode(_) | Self::HarnessReply(_) | Self::Task(_) => ErrorClass::Bug,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Request(error) => error.hint(),
            Self::Scan(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Sandbox(error) => error.hint(),
            Self::Run(error) => error.hint(),
            Self::Workflow(error) => error.hint(),
            Self::WorkflowGraph(error) => error.hint(),
            Self::Engine(error) => error.hint(),
            Self::Preset(error) | Self::Presets { source: error, .. } => error.hint(),
            Self::Policy(error) => error.hint(),
            Self::Model(error) => error.hint(),
            Self::PromptTemplate(error) => error.hint(),
            Self::OrphanFiles(error) => error.hint(),
            Self::Memory(error) => error.hint(),
            Self::Id(error) => error.hint(),
            Self::File { action: "write" | "create" | "lock", .. } => {
                Some("check its permissions, or choose another directory with --data-dir".into())
            }
            Self::File { .. } => None,
            Self::ForeignFile { .. } => Some("move the file away, or choose another --data-dir".into()),
            Self::StoredRun { .. } => Some("start a new run".into()),
            Self::Host { .. } | Self::Encode(_) | Self::HarnessReply(_) | Self::Task(_) => None,
        }
    }
}

/// Adds the operation and the path to an error of the file system.
pub(crate) trait FileContext<T> {
    /// `failed to ACTION PATH: …`
    fn file(self, action: &'static str, path: &Path) -> Result<T, AppError>;
}

impl<T> FileContext<T> for io::Result<T> {
    fn file(self, action: &'static str, path: &Path) -> Result<T, AppError> {
        self.map_err(|source| AppError::File { action, path: path.to_owned(), source })
    }
}
