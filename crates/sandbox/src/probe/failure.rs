//! Failures of probes.

use rustix::io::Errno;
use thiserror::Error;

/// Reason why a probe failed; its text is shown to the user.
#[derive(Debug, Error)]
pub(super) enum ProbeFailure {
    /// The kernel refused a call.
    #[error("failed to {step}: {source}")]
    Call { step: &'static str, source: Errno },
    /// A file could not be read, written or created, or a program could not be started.
    #[error("failed to {step}: {source}")]
    Io { step: String, source: std::io::Error },
    /// Every call succeeded, but without the intended effect.
    #[error("{step} had no effect: {observed}")]
    Ineffective { step: &'static str, observed: String },
    /// The cause and its remedy are known.
    #[error("{reason}")]
    Explained { reason: String, remedy: String },
    /// The feature is missing.
    #[error("{what}")]
    Absent { what: String },
}

impl ProbeFailure {
    /// Remedy, where the failure knows a more specific one than the catalog.
    pub(super) fn remedy(&self) -> Option<String> {
        match self {
            Self::Explained { remedy, .. } => Some(remedy.clone()),
            Self::Call { .. } | Self::Io { .. } | Self::Ineffective { .. } | Self::Absent { .. } => None,
        }
    }
}

/// Wraps the error of a step that is a system call, for `map_err`.
pub(super) fn syscall_failed(step: &'static str) -> impl FnOnce(Errno) -> ProbeFailure {
    move |source| ProbeFailure::Call { step, source }
}

/// Wraps the error of a step that is a file operation, for `map_err`.
pub(super) fn step_failed(step: impl Into<String>) -> impl FnOnce(std::io::Error) -> ProbeFailure {
    move |source| ProbeFailure::Io { step: step.into(), source }
}
