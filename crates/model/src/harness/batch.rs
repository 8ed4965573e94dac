//! Replies of the process that imports a module once and forks for every call of a batch.

use serde::{Deserialize, Serialize};

/// Reply to a [`BatchRequest`](super::BatchRequest).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchReply {
    /// Reason why calls cannot share the import; `None` if they can.
    #[serde(deserialize_with = "Option::deserialize")]
    pub why_not: Option<String>,
}

/// Report about one call of a batch, ahead of the reply of the call itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchCallReport {
    /// Wait status of the call's process.
    pub status: i32,
    /// The call left nothing behind: no files, no processes, no traffic.
    pub clean: bool,
    /// CPU time in user mode.
    pub cpu_user_us: u64,
    /// CPU time in the kernel.
    pub cpu_system_us: u64,
    /// Peak memory of the call's process.
    pub largest_process_bytes: u64,
}
