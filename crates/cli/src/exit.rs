//! Exit codes, documented in `menace --help`.

use std::process::ExitCode;

use menace_analysis::scan::ScanError;
use menace_engine::adaptation::AdaptationPolicyError;
use menace_model::ids::IdError;
use menace_model::presets::PresetError;
use menace_model::settings::SettingsError;
use menace_runner::{RunError, WorkflowError};
use menace_sandbox::SandboxError;
use menace_server::client::DaemonClientError;
use menace_server::daemon::DaemonConnectError;
use menace_server::gateway::GatewayError;
use menace_store::StoreError;

use crate::commands::UsageError;
use crate::configuration::ConfigurationError;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MenaceExit {
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

/// The code for an error, by the kind of error at its root.
pub(crate) fn exit_for_error(error: &anyhow::Error) -> MenaceExit {
    if let Some(exit) = error.chain().find_map(|cause| cause.downcast_ref().map(exit_for_sandbox_error)) {
        return exit;
    }
    let is_usage = error.chain().any(|cause| {
        cause.is::<UsageError>()
            || cause.is::<SettingsError>()
            || cause.is::<ConfigurationError>()
            || cause.is::<PresetError>()
            || cause.is::<IdError>()
            || matches!(cause.downcast_ref(), Some(RunError::PlanChanged))
            || matches!(cause.downcast_ref(), Some(GatewayError::Open { .. }))
            || matches!(cause.downcast_ref(), Some(DaemonClientError::Refused(_)))
            || matches!(
                cause.downcast_ref(),
                Some(AdaptationPolicyError::Foreign { .. } | AdaptationPolicyError::Strategy(_))
            )
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
            || cause.is::<StoreError>()
            || cause.is::<DaemonConnectError>()
            || cause.is::<GatewayError>()
    });
    match (is_usage, is_environment) {
        (true, _) => MenaceExit::Usage,
        (false, true) => MenaceExit::Environment,
        (false, false) => MenaceExit::Bug,
    }
}

/// The code for an error of a sandbox. A program that cannot be started has the codes that shells give it.
fn exit_for_sandbox_error(error: &SandboxError) -> MenaceExit {
    match error {
        SandboxError::Refused { .. } => MenaceExit::Usage,
        SandboxError::HostPath { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            MenaceExit::Usage
        }
        SandboxError::HostPath { source, .. } if source.kind() == std::io::ErrorKind::NotADirectory => {
            MenaceExit::Usage
        }
        SandboxError::Start { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            MenaceExit::Program(127)
        }
        SandboxError::Start { .. } => MenaceExit::Program(126),
        SandboxError::Protocol(_) => MenaceExit::Bug,
        SandboxError::HostPath { .. }
        | SandboxError::Unsupported { .. }
        | SandboxError::Inside { .. }
        | SandboxError::Port { .. }
        | SandboxError::Full { .. }
        | SandboxError::Io { .. }
        | SandboxError::Gone { .. } => MenaceExit::Environment,
    }
}
