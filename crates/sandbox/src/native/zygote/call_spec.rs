//! Specification and raw outcome of one call.

use std::time::Duration;

use menace_model::faults::{FaultCount, FaultRule};
use menace_model::network::{NetworkReport, NetworkSpec};
use menace_model::sandbox::ResourceUsage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Request to the harness, made in a sandbox of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct CallSpec {
    /// Request in the harness's format.
    pub request: Value,
    /// Timeout, including the import.
    pub timeout: Duration,
    /// Resource limits; unset values mean the defaults of calls.
    pub limits: CallLimits,
    /// Call environment. A call that does not use it is made without, which is cheaper.
    pub world: CallEnvironment,
    /// The call is known to use its environment, so it is made with it from the start.
    pub needs_world: bool,
}

/// Environment of a call: its network with mocks, and its file faults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallEnvironment {
    /// Network of the call; `None` means no network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSpec>,
    /// Rules for system calls that fail on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRule>,
}

impl CallEnvironment {
    /// Whether the environment has neither network nor faults.
    pub fn is_empty(&self) -> bool {
        self.network.is_none() && self.faults.is_empty()
    }

    /// Whether a call that was made without the environment tried to use it.
    pub(super) fn was_needed_by(&self, outcome: &RawOutcome) -> bool {
        let Some(answer) = &outcome.returned else { return false };
        let steps = answer["steps"].as_array().map_or(&[][..], Vec::as_slice);
        let count = |what: &str| -> u64 {
            let all = steps.iter().chain([answer]);
            all.filter_map(|answer| answer["seen"][what].as_u64()).sum()
        };
        (self.network.is_some() && count("connections") > 0)
            || (!self.faults.is_empty() && count("files") > 0)
    }
}

/// Resource limits of one call; unset values mean the defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CallLimits {
    /// CPU cores, fractions allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Memory in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Disk space in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
}

/// Maximum number of calls with a small CPU share that run in place of one full call.
pub(super) const MAXIMUM_CALLS_PER_SLOT: usize = 4;

impl CallLimits {
    /// Number of I/O-bound calls that run in place of one full call.
    pub const WAITING_PLACES: usize = MAXIMUM_CALLS_PER_SLOT;

    /// Number of calls with these limits that run in place of one full call. There are two slots per core, so only a
    /// call with less than half a core leaves room for others.
    pub fn calls_per_slot(&self) -> usize {
        (1..=MAXIMUM_CALLS_PER_SLOT)
            .rev()
            .find(|count| self.cpus.is_some_and(|cpus| cpus * *count as f64 <= 0.5))
            .unwrap_or(1)
    }
}

impl CallSpec {
    /// Call with a timeout of ten seconds, default limits and no environment.
    pub fn new(request: Value) -> Self {
        Self {
            request,
            timeout: Duration::from_secs(10),
            limits: CallLimits::default(),
            world: CallEnvironment::default(),
            needs_world: false,
        }
    }

    /// Sets the timeout.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the call environment, and whether the call is known to use it.
    #[must_use]
    pub fn world(mut self, environment: CallEnvironment, needs_environment: bool) -> Self {
        (self.world, self.needs_world) = (environment, needs_environment);
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// Outcome of a call, as observed from outside and as reported by the harness.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags that users read by name")]
pub struct RawOutcome {
    /// Answer of the harness; `None` if the process ended before it.
    pub returned: Option<Value>,
    /// Exit code of the process: 0 after a complete answer of the harness.
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
