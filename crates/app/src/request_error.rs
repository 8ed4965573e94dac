//! Requests that are well-formed but cannot be carried out.

use std::path::PathBuf;

use menace_engine::memory::MemoryRetentionError;
use menace_model::ids::RunId;
use menace_model::{ErrorClass, ErrorDetails};
use thiserror::Error;

/// Request that cannot be carried out as it was made.
#[derive(Debug, Error)]
pub enum RequestError {
    /// `SANDBOX_CONTAINER_USER` is not numeric.
    #[error("SANDBOX_CONTAINER_USER is {0:?}, which is not a user id")]
    ContainerUser(String),
    /// An option has no effect in containers.
    #[error("--emit-tests and --forecast-log cannot be used while presets run in containers")]
    NotInContainers,
    /// No module has this path or name.
    #[error("no module {0:?} in this repository")]
    UnknownModule(String),
    /// The directory contains no Python file.
    #[error("no Python files in {0}")]
    NoPython(PathBuf),
    /// The repository has no commit, so there is nothing to branch from.
    #[error("{0} has no commits")]
    NoCommits(PathBuf),
    /// No run can be resumed.
    #[error("no unfinished run of menace auto in this data directory")]
    NothingToRecover,
    /// The tests cannot be run, so no patch could be kept.
    #[error("the tests of the repository cannot be run: {0}")]
    UnrunnableTests(String),
    /// The id belongs to a run of `menace run`.
    #[error("{0} was started by menace run, not by menace auto")]
    NotAutoRun(RunId),
    /// Another process executes the run.
    #[error("{0} is still running in another process")]
    StillRunning(RunId),
    /// The run is complete.
    #[error("{0} is finished")]
    Finished(RunId),
    /// `SANDBOX_INPUT_STUBS` has the wrong form.
    #[error("invalid SANDBOX_INPUT_STUBS: {0}")]
    InputStubs(String),
    /// Synthetic stubs were requested without a model.
    #[error("SANDBOX_STUB_STRATEGY=synthetic needs a language model, and none is configured")]
    NoModel,
    /// The file of stub templates has the wrong form.
    #[error("invalid stub templates in {path}: {problem}")]
    StubTemplates {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// A stub plugin failed.
    #[error("stub plugin {path} failed: {problem}")]
    StubPlugin {
        /// Path of the plugin.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// The file of fixtures has the wrong form.
    #[error("invalid fixtures in {path}: {problem}")]
    Fixtures {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// No workflow is stored, and none can be built from module groups.
    #[error("no workflow is stored, and no module group has a public function to call")]
    NoWorkflows,
    /// The file of mock rules has the wrong form.
    #[error("invalid mock rules in {path}: {problem}")]
    MockRules {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// The history cannot be read.
    #[error("unreadable history {path}: {problem}")]
    History {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// An ROI profile or a file of severities is invalid.
    #[error("invalid {path}: {problem}")]
    Rules {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// A metrics plugin failed.
    #[error("metrics file {path} failed: {problem}")]
    MetricsFile {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// A weight of the settings is out of range.
    #[error("{variable} is {weight}; it must be between 0 and 10")]
    SynergyWeight {
        /// Name of the variable.
        variable: String,
        /// Value of the variable.
        weight: f64,
    },
    /// The file in `SANDBOX_MODEL_REPLAY` does not exist.
    #[error("SANDBOX_MODEL_REPLAY: no file {0}")]
    ModelReplay(PathBuf),
    /// A query of a history or of a workflow graph is invalid.
    #[error("{0}")]
    Tracking(String),
    /// `GPT_MEMORY_RETENTION` has the wrong form.
    #[error("invalid GPT_MEMORY_RETENTION: {0}")]
    Retention(#[from] MemoryRetentionError),
}

impl ErrorDetails for RequestError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::UnknownModule(_) | Self::NothingToRecover | Self::NoWorkflows => ErrorClass::NotFound,
            Self::StillRunning(_) | Self::Finished(_) | Self::NotAutoRun(_) => ErrorClass::Conflict,
            Self::ContainerUser(_)
            | Self::NotInContainers
            | Self::NoPython(_)
            | Self::NoCommits(_)
            | Self::UnrunnableTests(_)
            | Self::InputStubs(_)
            | Self::NoModel
            | Self::StubTemplates { .. }
            | Self::StubPlugin { .. }
            | Self::Fixtures { .. }
            | Self::MockRules { .. }
            | Self::History { .. }
            | Self::Rules { .. }
            | Self::MetricsFile { .. }
            | Self::SynergyWeight { .. }
            | Self::ModelReplay(_)
            | Self::Tracking(_)
            | Self::Retention(_) => ErrorClass::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::ContainerUser(_) => "use numbers, such as 1000 or 1000:1000".into(),
            Self::NotInContainers => "set SANDBOX_DOCKER=0".into(),
            Self::UnknownModule(_) => "use a path such as shop/cart.py or a name such as shop.cart".into(),
            Self::NoPython(_) => "pass the path of a Python repository: menace run PATH".into(),
            Self::NoCommits(_) => {
                "commit the code first: git add -A && git commit; patches are commits on a branch".into()
            }
            Self::NothingToRecover => "start a run with menace auto, or pass its --data-dir".into(),
            Self::UnrunnableTests(_) => {
                "patches are kept only if the tests pass; --python PATH selects an interpreter with pytest"
                    .into()
            }
            Self::NotAutoRun(id) => format!("resume it with menace run --resume {id}"),
            Self::StillRunning(_) => "stop that process first, or start another run".into(),
            Self::Finished(id) => format!("menace show {id} prints its results"),
            Self::InputStubs(_) => r#"use a list of dictionaries, such as [{"name": "value"}]"#.into(),
            Self::NoModel => "use smart, history or templates".into(),
            Self::StubTemplates { .. } => "docs/files.md describes the format".into(),
            Self::NoWorkflows => {
                "add one with menace lab workflows add NAME MODULE:FUNCTION …, or pass --dynamic-workflows"
                    .into()
            }
            Self::MockRules { .. } => "use a list of rules with host, path, … and respond".into(),
            Self::History { .. } => "pass a roi_history.json, or a directory that contains one".into(),
            Self::Tracking(_) => "menace lab roi forecast FILE lists the metrics of a history".into(),
            Self::StubPlugin { .. }
            | Self::Fixtures { .. }
            | Self::Rules { .. }
            | Self::MetricsFile { .. }
            | Self::SynergyWeight { .. }
            | Self::ModelReplay(_)
            | Self::Retention(_) => return None,
        })
    }
}
