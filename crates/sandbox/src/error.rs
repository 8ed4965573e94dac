//! What can go wrong, with what the user can do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a sandbox could not do what it was asked for.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// The spec or request contradicts itself or the host; the caller has to change it.
    #[error("{problem}\nhint: {hint}")]
    Refused {
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        hint: String,
    },
    /// A host path of the spec is not there or not what it has to be.
    #[error("cannot use {path}: {source}\nhint: the path has to be there, of the right kind, and readable for you", path = path.display())]
    HostPath {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// This host cannot do something that isolation needs. There is no way around it.
    #[error("this host cannot {what}: {source}\nhint: {hint}")]
    Unsupported {
        /// The step, as a verb.
        what: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
        /// How to get it.
        hint: String,
    },
    /// The program is not there or cannot be executed.
    #[error(
        "cannot start {program} in the sandbox: {source}\nhint: programs are looked for in the PATH of the sandbox; sh -c 'echo $PATH' in it shows where"
    )]
    Start {
        /// As it was asked for.
        program: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A path inside the sandbox could not be read, written, packed or unpacked.
    #[error("cannot {action} {path} in the sandbox: {reason}", path = path.display())]
    Inside {
        /// As a verb.
        action: &'static str,
        /// Inside.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Nobody inside answers on a port.
    #[error(
        "cannot reach port {port} in the sandbox: {source}\nhint: start a program that listens on that port"
    )]
    Port {
        /// Which.
        port: u16,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// Reading from or writing to a command, an archive or a file of ours failed.
    #[error("failed to {action}: {source}")]
    Io {
        /// As a verb.
        action: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There are as many containers as there may be.
    #[error(
        "{there} containers are used, and {most} is the most\nhint: destroy some, or set SANDBOX_MAX_CONTAINER_COUNT higher"
    )]
    Full {
        /// How many are used.
        there: usize,
        /// How many may be.
        most: usize,
    },
    /// The sandbox was destroyed, or its first process is dead.
    #[error("sandbox {id} is gone")]
    Gone {
        /// Which.
        id: String,
    },
    /// A part of ours did not keep to the protocol between the parts.
    #[error("{0}")]
    Protocol(String),
}

impl SandboxError {
    /// A failed operation of ours, for `map_err`.
    pub fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}
