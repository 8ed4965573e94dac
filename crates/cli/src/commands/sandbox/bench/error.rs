//! What can stop a measurement.

use std::io;

use thiserror::Error;

/// Why something could not be measured.
#[derive(Debug, Error)]
pub(crate) enum BenchError {
    /// A program could not be started or did not end well.
    #[error("{command} {reason}")]
    Program {
        /// As a shell would have it.
        command: String,
        /// How it ended, with what it said.
        reason: String,
    },
    /// A command in a sandbox did not end as it must for its time to mean anything.
    #[error("{command} in a sandbox ended with {ending}")]
    Inside {
        /// As a shell would have it.
        command: String,
        /// What happened instead.
        ending: String,
    },
    /// What runs is not what was started.
    #[error("expected {expected}, found {found}")]
    Census {
        /// What was to be counted.
        expected: String,
        /// What was counted.
        found: String,
    },
    /// The kernel does not say what is asked.
    #[error(
        "failed to read {path}: {source}\nhint: memory of other users' processes can be read by root only"
    )]
    Kernel {
        /// Below `/proc`.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// None of the rows that were asked for can be measured here.
    #[error("nothing can be measured: {reasons}")]
    Nothing {
        /// Why, for each row.
        reasons: String,
    },
}
