//! Failures of a benchmark.

use std::io;

use thiserror::Error;

/// Failure of a benchmark.
#[derive(Debug, Error)]
pub(crate) enum BenchmarkError {
    /// A benchmark without a row in the table was combined with others.
    #[error("{0} cannot be combined with other benchmarks")]
    NotARow(&'static str),
    /// A command on the host could not be started, or failed.
    #[error("{command} {reason}")]
    HostCommand {
        /// Command line.
        command: String,
        /// Exit status and stderr.
        reason: String,
    },
    /// A command in a sandbox failed, so that its time means nothing.
    #[error("{command} in a sandbox ended with {ending}")]
    SandboxCommand {
        /// Command line.
        command: String,
        /// Exit code, signal and stderr.
        ending: String,
    },
    /// The running processes are not the expected ones.
    #[error("expected {expected}, found {found}")]
    UnexpectedProcesses {
        /// Expected processes.
        expected: String,
        /// Found processes.
        found: String,
    },
    /// A file of `/proc` could not be read. Memory of other users' processes is readable only for root.
    #[error("failed to read {path}: {source}")]
    ReadProc {
        /// Path below `/proc`.
        path: String,
        /// Error of the kernel.
        #[source]
        source: io::Error,
    },
    /// None of the requested rows can be measured on this host.
    #[error("no benchmark can be measured on this host: {reasons}")]
    NothingMeasurable {
        /// Reason for each row.
        reasons: String,
    },
}
