//! Exit codes, documented in `menace --help`.

use std::process::ExitCode;

use menace_analysis::scan::ScanError;
use menace_engine::adaptation::PolicyError;
use menace_model::ids::IdError;
use menace_model::presets::PresetError;
use menace_model::settings::SettingsError;
use menace_runner::{RunError, WorkflowError};
use menace_sandbox::SandboxError;
use menace_server::client::ClientError;
use menace_server::front::FrontError;
use menace_server::keeper::KeeperError;
use menace_store::StoreError;

use crate::commands::{BenchError, UsageError};
use crate::configuration::ConfigurationError;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Found what it looks for: failures, missing capabilities.
    Found,
    /// Wrong usage.
    Usage,
    /// The environment cannot do it.
    Environment,
    /// Interrupted.
    Interrupted,
    /// Our bug.
    Bug,
    /// What a program in a sandbox returned, or what stands for its end.
    Program(u8),
}

impl Exit {
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

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The code for an error, by the kind of error at its root.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    if let Some(exit) = error.chain().find_map(|cause| cause.downcast_ref().map(of_sandbox_error)) {
        return exit;
    }
    let is_usage = error.chain().any(|cause| {
        cause.is::<UsageError>()
            || cause.is::<SettingsError>()
            || cause.is::<ConfigurationError>()
            || cause.is::<PresetError>()
            || cause.is::<IdError>()
            || matches!(cause.downcast_ref(), Some(RunError::PlanChanged))
            || matches!(cause.downcast_ref(), Some(FrontError::Open { .. }))
            || matches!(cause.downcast_ref(), Some(ClientError::Refused(_)))
            || matches!(cause.downcast_ref(), Some(PolicyError::Foreign { .. } | PolicyError::Strategy(_)))
            || matches!(
                cause.downcast_ref(),
                Some(WorkflowError::NoSection(_) | WorkflowError::NotCallable { .. })
            )
            || matches!(
                cause.downcast_ref(),
                Some(
                    StoreError::NoRun(_)
                        | StoreError::NoCall(_)
                        | StoreError::NoWorkflow(_)
                        | StoreError::WorkflowExists(_)
                        | StoreError::Kind(_)
                )
            )
            || matches!(
                cause.downcast_ref(),
                Some(ScanError::NotADirectory { .. } | ScanError::Pattern { .. })
            )
            || matches!(cause.downcast_ref(), Some(ScanError::Root { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound)
    });
    let is_environment = error.chain().any(|cause| {
        cause.is::<std::io::Error>()
            || cause.is::<ScanError>()
            || cause.is::<BenchError>()
            || cause.is::<StoreError>()
            || cause.is::<KeeperError>()
            || cause.is::<FrontError>()
    });
    match (is_usage, is_environment) {
        (true, _) => Exit::Usage,
        (false, true) => Exit::Environment,
        (false, false) => Exit::Bug,
    }
}

/// The code for an error of a sandbox. A program that cannot be started has the codes that shells give it.
fn of_sandbox_error(error: &SandboxError) -> Exit {
    match error {
        SandboxError::Refused { .. } => Exit::Usage,
        SandboxError::HostPath { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Exit::Usage,
        SandboxError::HostPath { source, .. } if source.kind() == std::io::ErrorKind::NotADirectory => {
            Exit::Usage
        }
        SandboxError::Start { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Exit::Program(127)
        }
        SandboxError::Start { .. } => Exit::Program(126),
        SandboxError::Protocol(_) => Exit::Bug,
        SandboxError::HostPath { .. }
        | SandboxError::Unsupported { .. }
        | SandboxError::Inside { .. }
        | SandboxError::Port { .. }
        | SandboxError::Full { .. }
        | SandboxError::Io { .. }
        | SandboxError::Gone { .. } => Exit::Environment,
    }
}
