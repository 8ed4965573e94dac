//! Raw outcome of one isolated call, before it is classified.

use serde::{Deserialize, Serialize};

use crate::faults::FaultCount;
use crate::harness::HarnessReply;
use crate::network::NetworkReport;
use crate::sandbox::ResourceUsage;

/// Outcome of a call, as observed from outside and as reported by the harness.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags that users read by name")]
pub struct RawOutcome {
    /// Reply of the harness; `None` if the process ended before it.
    pub reply: Option<HarnessReply>,
    /// Exit code of the process: 0 after a complete reply of the harness.
    pub exit_code: Option<i32>,
    /// Signal that ended the process.
    pub signal: Option<i32>,
    /// Killed because of its timeout.
    pub timed_out: bool,
    /// The kernel killed a process of the call because memory ran out.
    pub oom: bool,
    /// The disk was full at the end.
    pub disk_full: bool,
    /// Wall time from the request to the end.
    pub wall_ms: f64,
    /// Resources that the call consumed.
    #[serde(flatten)]
    pub usage: ResourceUsage,
    /// Standard output, up to the limit.
    pub stdout: String,
    /// Standard error, up to the limit.
    pub stderr: String,
    /// Standard output or standard error exceeded the limit.
    pub truncated: bool,
    /// Traffic on the call's network.
    pub network: NetworkReport,
    /// Counts of system calls that failed on purpose.
    pub faults: Vec<FaultCount>,
}
