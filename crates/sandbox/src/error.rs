//! Errors of sandboxes, with hints for the user.

use std::io;
use std::path::PathBuf;

use menace_model::{ErrorClass, ErrorDetails};
use thiserror::Error;

/// Failure of a sandbox operation.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// The spec or request contradicts itself or the host; the caller has to change it.
    #[error("{problem}")]
    Refused {
        /// The requirement that was not met.
        problem: String,
        /// How to correct the request.
        hint: String,
    },
    /// A host path of the spec is missing or of the wrong kind.
    #[error("cannot use {path}: {source}", path = path.display())]
    HostPath {
        /// Path on the host.
        path: PathBuf,
        /// Error of the kernel.
        #[source]
        source: io::Error,
    },
    /// The host lacks a feature that isolation needs. There is no fallback.
    #[error("this host cannot {what}: {source}")]
    Unsupported {
        /// Failed step, as a verb phrase.
        what: String,
        /// Error of the kernel.
        #[source]
        source: io::Error,
        /// How to enable the feature.
        hint: String,
    },
    /// The program is missing or cannot be executed.
    #[error("cannot start {program} in the sandbox: {source}")]
    Start {
        /// Program as requested.
        program: String,
        /// Error of the kernel.
        #[source]
        source: io::Error,
    },
    /// A path inside the sandbox could not be read, written, packed or unpacked.
    #[error("cannot {action} {path} in the sandbox: {source}", path = path.display())]
    Inside {
        /// Failed operation, as a verb.
        action: &'static str,
        /// Path inside the sandbox.
        path: PathBuf,
        /// Error of the kernel, or an error with the kind that a kernel would report.
        #[source]
        source: io::Error,
    },
    /// No program in the sandbox accepts connections on a port.
    #[error("cannot reach port {port} in the sandbox: {source}")]
    Port {
        /// Port on the sandbox's loopback interface.
        port: u16,
        /// Error of the kernel.
        #[source]
        source: io::Error,
    },
    /// Reading from or writing to a command, an archive or one of menace's files failed.
    #[error("failed to {action}: {source}")]
    Io {
        /// Failed operation, as a verb phrase.
        action: &'static str,
        /// Underlying error.
        #[source]
        source: io::Error,
    },
    /// The limit on the number of containers is reached.
    #[error("container limit reached: {there} of {most} are in use")]
    Full {
        /// Number of containers in use.
        there: usize,
        /// Highest allowed number.
        most: usize,
    },
    /// The sandbox was destroyed, or its init process is dead.
    #[error("sandbox {id} is gone")]
    Gone {
        /// Id of the sandbox.
        id: String,
    },
    /// A component of menace violated an internal protocol.
    #[error("{0}")]
    Protocol(String),
}

impl ErrorDetails for SandboxError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Refused { .. } => ErrorClass::Conflict,
            Self::HostPath { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => ErrorClass::NotFound,
                io::ErrorKind::NotADirectory => ErrorClass::Usage,
                _ => ErrorClass::Environment,
            },
            Self::Unsupported { .. } => ErrorClass::Unsupported,
            Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                ErrorClass::ProgramNotFound
            }
            Self::Start { .. } => ErrorClass::ProgramNotExecutable,
            Self::Inside { source, .. } => class_inside(source),
            Self::Port { .. } => ErrorClass::Unreachable,
            Self::Io { .. } => ErrorClass::Environment,
            Self::Full { .. } => ErrorClass::LimitExceeded,
            Self::Gone { .. } => ErrorClass::Gone,
            Self::Protocol(_) => ErrorClass::Bug,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Refused { hint, .. } | Self::Unsupported { hint, .. } => {
                return Some(hint.clone()).filter(|hint| !hint.is_empty());
            }
            Self::HostPath { .. } => {
                "the path must exist, be of the right kind, and be readable by this user".into()
            }
            Self::Start { .. } => {
                "programs are looked up in the sandbox's PATH; run sh -c 'echo $PATH' in it to see the value"
                    .into()
            }
            Self::Port { .. } => "start a program that listens on that port".into(),
            Self::Full { .. } => "destroy some, or raise SANDBOX_MAX_CONTAINER_COUNT".into(),
            Self::Inside { .. } | Self::Io { .. } | Self::Gone { .. } | Self::Protocol(_) => return None,
        })
    }
}

/// Kind of the failure of a file operation inside a sandbox.
fn class_inside(error: &io::Error) -> ErrorClass {
    match error.kind() {
        io::ErrorKind::NotFound => ErrorClass::NotFound,
        io::ErrorKind::AlreadyExists => ErrorClass::Conflict,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorClass::PermissionDenied,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorClass::StorageFull,
        // The kernel refuses the operation for this path, so another request is needed.
        io::ErrorKind::CrossesDevices
        | io::ErrorKind::DirectoryNotEmpty
        | io::ErrorKind::ExecutableFileBusy
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::InvalidData
        | io::ErrorKind::InvalidFilename
        | io::ErrorKind::InvalidInput
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::NotSeekable
        | io::ErrorKind::ResourceBusy
        | io::ErrorKind::TooManyLinks
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::Unsupported => ErrorClass::Usage,
        _ if error.raw_os_error() == Some(libc::ELOOP) => ErrorClass::Usage,
        _ => ErrorClass::Environment,
    }
}

impl SandboxError {
    /// Wraps an I/O error of the named operation, for `map_err`.
    pub fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_number_decides_the_class_and_no_text_has_a_hint() {
        let inside = |errno| {
            let source = io::Error::from_raw_os_error(errno);
            SandboxError::Inside { action: "read", path: "/x".into(), source }
        };
        let start = |errno| {
            let source = io::Error::from_raw_os_error(errno);
            SandboxError::Start { program: "x".into(), source }
        };
        let host_path = |errno| {
            let source = io::Error::from_raw_os_error(errno);
            SandboxError::HostPath { path: "/x".into(), source }
        };
        let denied = || io::Error::from_raw_os_error(libc::EPERM);
        let cases = [
            (inside(libc::ENOENT), ErrorClass::NotFound),
            (inside(libc::EEXIST), ErrorClass::Conflict),
            (inside(libc::EACCES), ErrorClass::PermissionDenied),
            (inside(libc::EPERM), ErrorClass::PermissionDenied),
            (inside(libc::EROFS), ErrorClass::PermissionDenied),
            (inside(libc::ENOSPC), ErrorClass::StorageFull),
            (inside(libc::EDQUOT), ErrorClass::StorageFull),
            (inside(libc::EISDIR), ErrorClass::Usage),
            (inside(libc::ELOOP), ErrorClass::Usage),
            (inside(libc::EIO), ErrorClass::Environment),
            (start(libc::ENOENT), ErrorClass::ProgramNotFound),
            (start(libc::EACCES), ErrorClass::ProgramNotExecutable),
            (start(libc::ENOEXEC), ErrorClass::ProgramNotExecutable),
            (host_path(libc::ENOENT), ErrorClass::NotFound),
            (host_path(libc::ENOTDIR), ErrorClass::Usage),
            (host_path(libc::EACCES), ErrorClass::Environment),
            (SandboxError::Refused { problem: "no".into(), hint: "do".into() }, ErrorClass::Conflict),
            (
                SandboxError::Unsupported { what: "do".into(), source: denied(), hint: "run".into() },
                ErrorClass::Unsupported,
            ),
            (SandboxError::Port { port: 1, source: denied() }, ErrorClass::Unreachable),
            (SandboxError::Io { action: "read", source: denied() }, ErrorClass::Environment),
            (SandboxError::Full { there: 1, most: 1 }, ErrorClass::LimitExceeded),
            (SandboxError::Gone { id: "sb-1".into() }, ErrorClass::Gone),
            (SandboxError::Protocol("no answer".into()), ErrorClass::Bug),
        ];
        for (error, class) in cases {
            assert_eq!(error.class(), class, "{error}");
            let text = error.to_string();
            assert!(!text.contains('\n') && !text.contains("hint:"), "{text}");
            assert!(error.hint().is_none_or(|hint| !hint.contains('\n')), "{text}");
        }
    }
}
