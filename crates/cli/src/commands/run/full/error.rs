//! Why a preset could not be measured in a container.

use menace_model::ErrorDetails;
use menace_sandbox::SandboxError;
use thiserror::Error;

#[derive(Debug, Error)]
pub(super) enum ContainerError {
    /// The engine, or something in the container that is ours.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// This program is none for the image.
    #[error(
        "menace cannot run in the image {image}: {reason}\nhint: it needs the C library of the machine on which it was built \
         (glibc): set MENACE_SANDBOX_IMAGE to an image that has it, or build the one of docker/Dockerfile.sandbox"
    )]
    Program { image: String, reason: String },
    /// Nothing can be called.
    #[error(
        "the image {image} has no python3: {reason}\nhint: set MENACE_SANDBOX_IMAGE to an image that has Python"
    )]
    Python { image: String, reason: String },
    /// It ended in a way that says nothing about the repository.
    #[error("menace ended with {end} in the container: {said}")]
    Ended { end: String, said: String },
    /// What it printed is no report.
    #[error("what menace printed in the container is no report: {0}")]
    Report(serde_json::Error),
    /// What it wrote is no history.
    #[error("the history that menace wrote in the container cannot be read: {0}")]
    History(String),
    /// The files of this machine that a container needs.
    #[error("failed to {action}: {source}")]
    Host {
        action: &'static str,
        #[source]
        source: std::io::Error,
    },
    /// Somebody does not want to know any more.
    #[error("it was interrupted")]
    Interrupted,
}

impl ContainerError {
    /// The error, and the hint on a line of its own.
    pub(super) fn with_hint(&self) -> String {
        match self {
            Self::Sandbox(error) => match error.hint() {
                Some(hint) => format!("{error}\nhint: {hint}"),
                None => error.to_string(),
            },
            _ => self.to_string(),
        }
    }

    /// Whether it may work if it is tried once more: the engine was gone or busy. What was refused will be refused again.
    pub(super) fn may_pass(&self) -> bool {
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
    fn what_was_refused_is_not_tried_again() {
        let gone = SandboxError::Gone { id: "sb-1".into() };
        assert!(ContainerError::from(gone).may_pass());
        let refused = SandboxError::Refused { problem: "no image".into(), hint: String::new() };
        assert!(!ContainerError::from(refused).may_pass());
        assert!(!ContainerError::Ended { end: "70".into(), said: String::new() }.may_pass());
    }
}
