//! Exit codes, documented in `menace --help`.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use menace_analysis::map::UnknownGroupingAlgorithm;
use menace_analysis::orphans::OrphanFileError;
use menace_analysis::scan::ScanError;
use menace_app::{AppError, RequestError};
use menace_engine::adaptation::AdaptationPolicyError;
use menace_engine::memory::{EmbeddingError, MemoryError, MemoryRetentionError};
use menace_engine::proposers::llm::edits::EditError;
use menace_engine::proposers::llm::{ModelError, PromptTemplateError};
use menace_engine::workbench::EngineError;
use menace_model::faults::FaultRuleError;
use menace_model::ids::IdError;
use menace_model::network::DestinationError;
use menace_model::presets::PresetError;
use menace_model::settings::SettingsError;
use menace_model::{ErrorClass, ErrorDetails};
use menace_netstack::{MockError, NetworkSpecError};
use menace_runner::{JunitError, RunError, WorkflowError};
use menace_sandbox::SandboxError;
use menace_sandbox::overlays::OverlayError;
use menace_server::client::DaemonClientError;
use menace_server::daemon::DaemonConnectError;
use menace_server::dashboard::DashboardError;
use menace_server::exporter::ExporterError;
use menace_server::gateway::{GatewayError, TlsError};
use menace_store::StoreError;
use menace_store::audit::AuditError;
use menace_tracker::forecast::ForecastError;
use menace_tracker::history::HistoryError;
use menace_tracker::roi::RoiProfileError;
use menace_tracker::truth::TruthAdapterError;
use menace_tracker::weights::SynergyWeightsError;
use menace_tracker::workflows::WorkflowGraphError;

use crate::commands::UsageError;
use crate::configuration::ConfigurationError;

/// End of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MenaceExit {
    /// Done.
    Done,
    /// Findings: failures, missing capabilities.
    Found,
    /// Usage error.
    Usage,
    /// Unsupported environment.
    Environment,
    /// Interrupted.
    Interrupted,
    /// Internal error.
    Bug,
    /// Exit code of a program in a sandbox, or the code that stands for its end.
    Program(u8),
}

impl MenaceExit {
    /// Its number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Found => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Interrupted => 4,
            Self::Bug => 70,
            Self::Program(code) => code,
        }
    }
}

impl From<MenaceExit> for ExitCode {
    fn from(exit: MenaceExit) -> Self {
        Self::from(exit.code())
    }
}

/// Exit code of an error class. A program that cannot be started has the codes that shells give it.
fn exit_for_class(class: ErrorClass) -> MenaceExit {
    match class {
        ErrorClass::Usage | ErrorClass::NotFound | ErrorClass::Conflict => MenaceExit::Usage,
        ErrorClass::Gone
        | ErrorClass::PermissionDenied
        | ErrorClass::LimitExceeded
        | ErrorClass::StorageFull
        | ErrorClass::Unreachable
        | ErrorClass::Unsupported
        | ErrorClass::Environment => MenaceExit::Environment,
        ErrorClass::ProgramNotFound => MenaceExit::Program(127),
        ErrorClass::ProgramNotExecutable => MenaceExit::Program(126),
        ErrorClass::Interrupted => MenaceExit::Interrupted,
        ErrorClass::Bug => MenaceExit::Bug,
    }
}

/// Exit code of an error: that of the outermost error with a class, and of a bug if no error of the chain has one.
pub(crate) fn exit_for_error(error: &anyhow::Error) -> MenaceExit {
    let class = error.chain().find_map(details).map_or(ErrorClass::Bug, ErrorDetails::class);
    exit_for_class(class)
}

/// Lists the error types with a class and a hint.
macro_rules! errors_with_details {
    ($($error:ty),+ $(,)?) => {
        /// The class and the hint of an error, if its type has them.
        pub(crate) fn details<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a dyn ErrorDetails> {
            $(
                if let Some(error) = cause.downcast_ref::<$error>() {
                    return Some(error);
                }
            )+
            None
        }
    };
}

errors_with_details!(
    AppError,
    RequestError,
    AdaptationPolicyError,
    AuditError,
    ConfigurationError,
    DaemonClientError,
    DaemonConnectError,
    DashboardError,
    DestinationError,
    EditError,
    EmbeddingError,
    EngineError,
    ExporterError,
    FaultRuleError,
    ForecastError,
    GatewayError,
    HistoryError,
    IdError,
    JunitError,
    MemoryError,
    MemoryRetentionError,
    MockError,
    ModelError,
    NetworkSpecError,
    OrphanFileError,
    OverlayError,
    PresetError,
    PromptTemplateError,
    RoiProfileError,
    RunError,
    SandboxError,
    ScanError,
    SettingsError,
    StoreError,
    SynergyWeightsError,
    TlsError,
    TruthAdapterError,
    UnknownGroupingAlgorithm,
    UsageError,
    WorkflowError,
    WorkflowGraphError,
    io::Error,
);

impl ErrorDetails for UsageError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }

    fn hint(&self) -> Option<String> {
        hint_in_text(self)
    }
}

impl ErrorDetails for ConfigurationError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }

    fn hint(&self) -> Option<String> {
        hint_in_text(self)
    }
}

/// The hint of an error of this crate, which still has it on a line of its own in its text.
fn hint_in_text(error: &impl Error) -> Option<String> {
    error.to_string().split_once(HINT).map(|(_, hint)| hint.to_owned())
}

/// Separator between a text and its hint.
pub(crate) const HINT: &str = "\nhint: ";

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: impl Into<anyhow::Error>, code: u8) {
        let error = error.into();
        assert_eq!(exit_for_error(&error).code(), code, "{error:#}");
        let wrapped = error.context("failed to do it");
        assert_eq!(exit_for_error(&wrapped).code(), code, "{wrapped:#}");
    }

    #[test]
    fn every_class_has_an_exit_code() {
        let table = [
            (ErrorClass::Usage, 2),
            (ErrorClass::NotFound, 2),
            (ErrorClass::Conflict, 2),
            (ErrorClass::Gone, 3),
            (ErrorClass::PermissionDenied, 3),
            (ErrorClass::LimitExceeded, 3),
            (ErrorClass::StorageFull, 3),
            (ErrorClass::Unreachable, 3),
            (ErrorClass::Unsupported, 3),
            (ErrorClass::Environment, 3),
            (ErrorClass::ProgramNotFound, 127),
            (ErrorClass::ProgramNotExecutable, 126),
            (ErrorClass::Interrupted, 4),
            (ErrorClass::Bug, 70),
        ];
        for (class, code) in table {
            assert_eq!(exit_for_class(class).code(), code, "{class:?}");
        }
    }

    #[test]
    fn a_failing_git_is_an_error_of_the_environment() {
        let (command, problem) = ("worktree prune".to_owned(), "fatal: not now".to_owned());
        check(EngineError::Git { command: command.clone(), problem }, 3);
        check(EngineError::GitStart { command, source: io::ErrorKind::NotFound.into() }, 3);
    }

    #[test]
    fn a_wrapped_error_decides_the_exit_code() {
        let refused = || SandboxError::Refused { problem: "no".into(), hint: "do".into() };
        let missing = || SandboxError::Start { program: "x".into(), source: io::ErrorKind::NotFound.into() };
        check(refused(), 2);
        check(RunError::Sandbox(refused()), 2);
        check(EngineError::Run(RunError::Sandbox(refused())), 2);
        check(EngineError::Run(RunError::Sandbox(missing())), 127);
        check(RunError::PlanChanged, 2);
        check(StoreError::NoWorkflow("checkout".into()), 2);
        check(UsageError::NoNetwork, 2);
        check(io::Error::other("disk on fire"), 3);
        check(SandboxError::Protocol("no answer".into()), 70);
        check(anyhow::anyhow!("a surprise"), 70);
    }

    #[test]
    fn an_error_of_this_crate_has_its_hint_in_its_text() {
        let hint = UsageError::NoNetwork.hint().unwrap();
        assert!(hint.starts_with("add --net"), "{hint}");
        assert_eq!(UsageError::NoneAndMore.hint(), None);
    }
}
