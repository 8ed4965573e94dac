//! One call and what came of it.

use std::time::Duration;

use menace_model::faults::{FaultCount, FaultRule};
use menace_model::network::{NetworkReport, NetworkSpec};
use menace_model::sandbox::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the harness is asked to do in a sandbox of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct CallSpec {
    /// What is asked for, as the harness understands it.
    pub request: Value,
    /// How long it may take, the import included.
    pub timeout: Duration,
    /// What it may use; nothing means what calls may usually use.
    pub limits: CallLimits,
    /// What is around it. A call that does not look for it is made without, which is cheaper.
    pub world: World,
    /// It is known to look for the world, and so is made with it at once.
    pub needs_world: bool,
}

/// What is around a call: who answers on the network, and what goes wrong with files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct World {
    /// The network; without it there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSpec>,
    /// System calls that go wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRule>,
}

impl World {
    /// Whether there is anything around a call.
    pub fn is_empty(&self) -> bool {
        self.network.is_none() && self.faults.is_empty()
    }

    /// Whether a call that was made without it looked for it.
    pub(super) fn is_looked_for(&self, outcome: &RawOutcome) -> bool {
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

/// What one call may use; what is not said is as usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CallLimits {
    /// CPU cores, fractions allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Memory in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Bytes of files that can be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
}

/// A call with a small share of a core leaves room for others, up to so many in its place.
pub(super) const MOST_PLACES: usize = 4;

impl CallLimits {
    /// How many calls that wait for others run where otherwise one would.
    pub const WAITING_PLACES: usize = MOST_PLACES;

    /// How many calls with these limits run where otherwise one would. There are two places for each core, so that only
    /// a call with less than half a core leaves room.
    pub fn places(&self) -> usize {
        (1..=MOST_PLACES)
            .rev()
            .find(|places| self.cpus.is_some_and(|cpus| cpus * *places as f64 <= 0.5))
            .unwrap_or(1)
    }
}

impl CallSpec {
    /// At most ten seconds.
    pub fn new(request: Value) -> Self {
        Self {
            request,
            timeout: Duration::from_secs(10),
            limits: CallLimits::default(),
            world: World::default(),
            needs_world: false,
        }
    }

    /// The same with a limit on its time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same in a world.
    #[must_use]
    pub fn world(mut self, world: World, needs_world: bool) -> Self {
        (self.world, self.needs_world) = (world, needs_world);
        self
    }

    /// The same with other limits.
    #[must_use]
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// What came of a call, as it was seen from outside and as the harness describes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one answer, and users read them by name")]
pub struct RawOutcome {
    /// What the harness says; nothing if the process ended before it could.
    pub returned: Option<Value>,
    /// How the process ended: 0 after the harness has said everything.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// It was killed because its time was over.
    pub timed_out: bool,
    /// The kernel killed a process of the call because memory ran out.
    pub oom: bool,
    /// The disk was full at the end.
    pub disk_full: bool,
    /// From the request to the end.
    pub wall_ms: f64,
    /// What it took.
    #[serde(flatten)]
    pub usage: Usage,
    /// What it printed, up to the limit.
    pub stdout: String,
    /// What it said, up to the limit.
    pub stderr: String,
    /// It printed more than is kept.
    pub truncated: bool,
    /// What was seen on its network.
    pub network: NetworkReport,
    /// System calls that went wrong on purpose.
    pub faults: Vec<FaultCount>,
}
