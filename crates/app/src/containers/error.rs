//! Errors of presets in containers.

use menace_model::ErrorDetails;
use menace_sandbox::SandboxError;
use thiserror::Error;

#[derive(Debug, Error)]
pub(super) enum ContainerError {
    /// The engine or the container failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The image lacks the C library of this binary.
    #[error(
        "menace cannot run in the image {image}: {reason} (it needs the C library of the machine on which it was built; set \
         MENACE_SANDBOX_IMAGE to an image with glibc, or build docker/Dockerfile.sandbox)"
    )]
    Program { image: String, reason: String },
    /// The image has no Python.
    #[error("no python3 in the image {image}: {reason} (set MENACE_SANDBOX_IMAGE to an image with Python)")]
    Python { image: String, reason: String },
    /// menace failed in the container; this says nothing about the repository.
    #[error("menace failed in the container ({end}): {stderr}")]
    Ended { end: String, stderr: String },
    /// The output is not a report.
    #[error("unreadable report from the container: {0}")]
    Report(serde_json::Error),
    /// The history file is invalid.
    #[error("unreadable history from the container: {0}")]
    History(String),
    /// A file operation on this machine failed.
    #[error("failed to {action}: {source}")]
    Host {
        action: &'static str,
        #[source]
        source: std::io::Error,
    },
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
}

impl ContainerError {
    /// The error, and its hint on a line of its own.
    pub(super) fn with_hint(&self) -> String {
        match self {
            Self::Sandbox(error) => match error.hint() {
                Some(hint) => format!("{error}\nhint: {hint}"),
                None => error.to_string(),
            },
            _ => self.to_string(),
        }
    }

    /// Whether a retry may succeed: the engine was unavailable or busy. A refusal is final.
    pub(super) fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Sandbox(
                SandboxError::Unsupported { .. } | SandboxError::Io { .. } | SandboxError::Gone { .. }
            )
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_not_retried() {
        let gone = SandboxError::Gone { id: "sb-1".into() };
        assert!(ContainerError::from(gone).is_transient());
        let refused = SandboxError::Refused { problem: "no image".into(), hint: String::new() };
        assert!(!ContainerError::from(refused).is_transient());
        assert!(!ContainerError::Ended { end: "70".into(), stderr: String::new() }.is_transient());
    }
}
