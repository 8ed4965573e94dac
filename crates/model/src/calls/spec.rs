//! Specification of one isolated call: its request, limits and environment.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::RawOutcome;
use crate::faults::FaultRule;
use crate::harness::{CallObservations, HarnessRequest};
use crate::network::NetworkSpec;

/// Request to the harness, made in a sandbox of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallSpec {
    /// The request.
    pub request: HarnessRequest,
    /// Timeout, including the import.
    pub timeout: Duration,
    /// Resource limits; unset values mean the defaults of calls.
    pub limits: CallLimits,
    /// Call environment. A call that does not use it is made without, which is cheaper.
    pub environment: CallEnvironment,
    /// The call is known to use its environment, so it is made with it from the start.
    pub needs_environment: bool,
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
    pub fn was_needed_by(&self, outcome: &RawOutcome) -> bool {
        let Some(reply) = &outcome.reply else { return false };
        let has_any = |count: fn(&CallObservations) -> u64| reply.observations().any(|seen| count(seen) > 0);
        (self.network.is_some() && has_any(|seen| seen.connections))
            || (!self.faults.is_empty() && has_any(|seen| seen.files))
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

impl CallLimits {
    /// Maximum number of calls that run in place of one full call: of calls with a small CPU share, and of calls that
    /// wait for input or output.
    pub const MAXIMUM_CALLS_PER_SLOT: usize = 4;

    /// Number of calls with these limits that run in place of one full call. There are two slots per core, so only a
    /// call with less than half a core leaves room for others.
    pub fn calls_per_slot(&self) -> usize {
        (1..=Self::MAXIMUM_CALLS_PER_SLOT)
            .rev()
            .find(|count| self.cpus.is_some_and(|cpus| cpus * *count as f64 <= 0.5))
            .unwrap_or(1)
    }
}

impl CallSpec {
    /// Call with a timeout of ten seconds, default limits and no environment.
    pub fn new(request: HarnessRequest) -> Self {
        Self {
            request,
            timeout: Duration::from_secs(10),
            limits: CallLimits::default(),
            environment: CallEnvironment::default(),
            needs_environment: false,
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
    pub fn environment(mut self, environment: CallEnvironment, needs_environment: bool) -> Self {
        (self.environment, self.needs_environment) = (environment, needs_environment);
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }
}
