//! Errors of sandboxes, with hints for the user.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Failure of a sandbox operation.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// The spec or request contradicts itself or the host; the caller has to change it.
    #[error("{problem}\nhint: {hint}")]
    Refused {
        /// The requirement that was not met.
        problem: String,
        /// How to correct the request.
        hint: String,
    },
    /// A host path of the spec is missing or of the wrong kind.
    #[error("cannot use {path}: {source}\nhint: the path must exist, be of the right kind, and be readable by this user", path = path.display())]
    HostPath {
        /// Path on the host.
        path: PathBuf,
        /// Error of the kernel.
        #[source]
        source: io::Error,
    },
    /// The host lacks a feature that isolation needs. There is no fallback.
    #[error("this host cannot {what}: {source}\nhint: {hint}")]
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
    #[error(
        "cannot start {program} in the sandbox: {source}\nhint: programs are looked up in the sandbox's PATH; run sh -c 'echo $PATH' in it to see the value"
    )]
    Start {
        /// Program as requested.
        program: String,
        /// Error of the kernel.
        #[source]
        source: io::Error,
    },
    /// A path inside the sandbox could not be read, written, packed or unpacked.
    #[error("cannot {action} {path} in the sandbox: {reason}", path = path.display())]
    Inside {
        /// Failed operation, as a verb.
        action: &'static str,
        /// Path inside the sandbox.
        path: PathBuf,
        /// Reason of the failure.
        reason: String,
    },
    /// No program in the sandbox accepts connections on a port.
    #[error(
        "cannot reach port {port} in the sandbox: {source}\nhint: start a program that listens on that port"
    )]
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
    #[error(
        "container limit reached: {there} of {most} are in use\nhint: destroy some, or raise SANDBOX_MAX_CONTAINER_COUNT"
    )]
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

impl SandboxError {
    /// Wraps an I/O error of the named operation, for `map_err`.
    pub fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}
