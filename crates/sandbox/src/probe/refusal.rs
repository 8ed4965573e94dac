//! Why a probe did not do what it tried.

use rustix::io::Errno;
use thiserror::Error;

/// Why a probe failed, in the words that people read.
#[derive(Debug, Error)]
pub(super) enum Refusal {
    /// The kernel refused a call.
    #[error("failed to {step}: {source}")]
    Call { step: &'static str, source: Errno },
    /// A file could not be read, written or made, or a program not be started.
    #[error("failed to {step}: {source}")]
    Io { step: String, source: std::io::Error },
    /// Every call succeeded and yet it does not do what it is for.
    #[error("{step} had no effect: {observed}")]
    Ineffective { step: &'static str, observed: String },
    /// The cause is known, and what to do about it.
    #[error("{reason}")]
    Explained { reason: String, remedy: String },
    /// It is not there.
    #[error("{what}")]
    Absent { what: String },
}

impl Refusal {
    /// What to do about it, where that is better known here than in the catalog.
    pub(super) fn remedy(&self) -> Option<String> {
        match self {
            Self::Explained { remedy, .. } => Some(remedy.clone()),
            Self::Call { .. } | Self::Io { .. } | Self::Ineffective { .. } | Self::Absent { .. } => None,
        }
    }
}

/// Names the step whose system call may be refused.
pub(super) fn at(step: &'static str) -> impl FnOnce(Errno) -> Refusal {
    move |source| Refusal::Call { step, source }
}

/// Names the step whose file operation may fail.
pub(super) fn doing(step: impl Into<String>) -> impl FnOnce(std::io::Error) -> Refusal {
    move |source| Refusal::Io { step: step.into(), source }
}
