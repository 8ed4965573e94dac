//! Stress profiles: the limits, faults and input strategy of a preset, and the evidence that its faults fired.

mod failure_modes;

use std::time::Duration;

use menace_model::calls::{CallEnvironment, CallLimits};
use menace_model::presets::Preset;
use serde::{Deserialize, Serialize};

use crate::stubs::InputStrategy;

/// A preset translated into limits, faults, input strategy and required evidence for its calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StressProfile {
    /// The name of the preset.
    pub scenario: String,
    /// Severity of a canonical profile: `low` or `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Input strategy.
    pub strategy: InputStrategy,
    /// Share of the record fields that drift.
    pub drift: f64,
    /// Concurrent calls of the section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<BurstSize>,
    /// Resource limits of a call.
    #[serde(default)]
    pub limits: CallLimits,
    /// Deadline of the call itself, without the import of its module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
    /// Environment of a call: network mocks, packet shaping and file faults.
    #[serde(default, skip_serializing_if = "CallEnvironment::is_empty")]
    pub world: CallEnvironment,
    /// Faults of upstream requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<UpstreamFault>,
    /// Evidence of which at least one item is required for a call to count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<FaultEvidence>,
    /// Calls for each section.
    pub calls: usize,
    /// No faults, no limits: the baseline for other profiles.
    pub is_baseline: bool,
    /// Keys of the preset that have no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_effect: Vec<String>,
}

/// Threads and tasks that call a section at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstSize {
    /// Threads.
    pub threads: u32,
    /// Tasks of an event loop, for coroutines.
    pub tasks: u32,
}

/// Fault of upstream requests. The seed of the call selects among its variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamFault {
    /// Of every `requests` requests of a call, the first `failures` are refused with 503, reset, or never answered.
    Flaky {
        /// Requests that fail.
        failures: u64,
        /// Length of the repeating sequence of requests.
        requests: u64,
    },
    /// All requests are answered with 401 or 403, or with garbage bytes.
    Chaotic,
}

/// Observation that proves that a fault fired. A call counts if at least one required item was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultEvidence {
    /// Calls overlapped.
    Overlap,
    /// A load that competes with the call for its CPU quota had to wait when the call began. It proves that the quota
    /// was too small for both, not that the call itself waited for long.
    Starved,
    /// More than half of the memory limit was used, or it was hit.
    Memory,
    /// The disk was full.
    Disk,
    /// A deadline was set, which is always the case.
    Deadline,
    /// Packets were delayed.
    Delayed,
    /// Packets were lost, delayed, duplicated or reordered.
    Disturbed,
    /// An upstream request failed.
    Upstream,
    /// Fields of an argument or of a response were changed.
    Drifted,
    /// A file operation failed.
    Faulted,
}

/// Number of calls in a cell, by kind of profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallsPerCell {
    /// Baseline calls.
    pub normal: usize,
    /// With hostile arguments.
    pub hostile: usize,
    /// With wrong arguments.
    pub misuse: usize,
    /// With drifted arguments.
    pub drift: usize,
    /// Bursts.
    pub bursts: usize,
    /// Calls under limited resources.
    pub strain: usize,
}

impl Default for CallsPerCell {
    fn default() -> Self {
        Self { normal: 8, hostile: 28, misuse: 16, drift: 16, bursts: 2, strain: 2 }
    }
}

/// `THREAT_INTENSITY` of the low profiles, at which a cell has its default number of calls.
const USUAL_HOSTILITY: f64 = 30.0;
const USUAL_MISUSE: f64 = 20.0;

/// Keys that belong to other backends and to the adaptation of presets.
const OTHER_KEYS: [&str; 4] = ["MIN_BANDWIDTH", "SECURITY_LEVEL", "OS_TYPE", "VM_SETTINGS"];
/// Extra timeout of calls whose upstream may never answer, so that code that retries a few times, or gives up after
/// ten or twenty seconds, does so in time.
const PATIENCE_WITH_OTHERS: Duration = Duration::from_secs(25);
impl StressProfile {
    /// Creates the profile of a preset.
    pub fn of(preset: &Preset, counts: CallsPerCell) -> Self {
        let mut made = Self {
            scenario: preset.name().to_owned(),
            severity: preset.text("SEVERITY").map(str::to_owned),
            strategy: InputStrategy::Typical,
            drift: share(preset),
            burst: None,
            limits: limits(preset),
            within_ms: preset.number("TIMEOUT").map(milliseconds),
            world: CallEnvironment { network: Some(failure_modes::network(preset)), faults: Vec::new() },
            upstream: None,
            proofs: Vec::new(),
            calls: counts.strain,
            is_baseline: preset.is_baseline(),
            without_effect: without_effect(preset),
        };
        match preset.text("SANDBOX_STUB_STRATEGY") {
            Some("hostile") => made.strategy = InputStrategy::Hostile,
            Some("misuse") => made.strategy = InputStrategy::Misuse,
            _ => {}
        }
        for mode in preset.failure_modes() {
            failure_modes::apply_failure_mode(mode, &mut made, preset);
        }
        made.calls = made.count(preset, counts);
        made
    }

    fn count(&self, preset: &Preset, counts: CallsPerCell) -> usize {
        let scaled = |count: usize, usual: f64| {
            let share = preset.number("THREAT_INTENSITY").map_or(1.0, |intensity| intensity / usual);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "an intensity is at most 100, so this is small and not negative"
            )]
            let count = (count as f64 * share).round() as usize;
            count.max(1)
        };
        match self.strategy {
            _ if self.is_baseline => counts.normal,
            _ if self.burst.is_some() => counts.bursts,
            InputStrategy::Hostile => scaled(counts.hostile, USUAL_HOSTILITY),
            InputStrategy::Misuse => scaled(counts.misuse, USUAL_MISUSE),
            InputStrategy::Drift => counts.drift,
            InputStrategy::Typical => counts.strain,
        }
    }

    /// Whether its calls have the arguments of the baseline, as they are or drifted, so that each has a baseline call
    /// to compare with.
    pub fn is_paired(&self) -> bool {
        matches!(self.strategy, InputStrategy::Typical | InputStrategy::Drift) && !self.is_baseline
    }

    /// Whether the faults of a call depend on its seed, so that the same call with another seed adds information.
    pub fn is_random(&self) -> bool {
        self.burst.is_some() || !self.world.faults.is_empty() || self.disturbs_network() || self.drift > 0.0
    }

    /// Whether the profile disturbs requests or packets of a call.
    pub fn disturbs_network(&self) -> bool {
        self.upstream.is_some() || self.shapes_network()
    }

    /// Whether the profile shapes packets.
    pub fn shapes_network(&self) -> bool {
        self.world.network.as_ref().is_some_and(|network| !network.shape.is_clear())
    }

    /// Whether only the arguments differ: no limits, no faults, no concurrency.
    pub fn is_cheap(&self) -> bool {
        self.burst.is_none()
            && self.within_ms.is_none()
            && self.world.is_empty()
            && self.upstream.is_none()
            && self.limits == CallLimits::default()
            && self.proofs.iter().all(|proof| *proof == FaultEvidence::Drifted)
    }

    /// Number of calls that run in place of one ordinary call. Calls that wait for the network leave the CPU idle.
    pub fn calls_per_slot(&self, asks_others: bool) -> usize {
        let is_starved = self.proofs.contains(&FaultEvidence::Starved);
        let waits = self.disturbs_network() || (asks_others && !is_starved);
        if waits { CallLimits::MAXIMUM_CALLS_PER_SLOT } else { self.limits.calls_per_slot() }
    }

    /// Number of processes that together exceed the CPU quota.
    pub fn competitors(&self) -> u32 {
        self.limits.cpus.map_or(1, |cpus| whole(cpus.floor()) + 1)
    }

    /// Timeout of the whole call, the import included, given the timeout of an ordinary call.
    pub fn timeout(&self, usual: Duration) -> Duration {
        // With a fifth of a core everything takes five times as long: a quota throttles, it does not kill.
        let slower = self.limits.cpus.filter(|cpus| *cpus < 1.0).map_or(1.0, |cpus| 1.0 / cpus);
        // Many calls take longer than one, but a deadlock never ends.
        let longer = if self.burst.is_some() { 2.0 } else { 1.0 };
        let others = if self.disturbs_network() { PATIENCE_WITH_OTHERS } else { Duration::ZERO };
        usual.mul_f64(slower * longer) + Duration::from_millis(self.within_ms.unwrap_or(0)) + others
    }
}

fn limits(preset: &Preset) -> CallLimits {
    CallLimits {
        cpus: preset.number("CPU_LIMIT").filter(|cpus| *cpus > 0.0),
        memory: preset.bytes("MEMORY_LIMIT").filter(|bytes| *bytes > 0),
        disk: preset.bytes("DISK_LIMIT").filter(|bytes| *bytes > 0),
    }
}

fn share(preset: &Preset) -> f64 {
    match (preset.number("SCHEMA_MISMATCHES"), preset.number("SCHEMA_CHECKS")) {
        (Some(mismatches), Some(checks)) if checks > 0.0 => (mismatches / checks).min(1.0),
        _ => 0.0,
    }
}

fn without_effect(preset: &Preset) -> Vec<String> {
    let is_without = |key: &&String| OTHER_KEYS.contains(&key.as_str());
    preset.values().keys().filter(is_without).cloned().collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "presets hold no negative numbers, and a larger one is cut off"
)]
fn whole(number: f64) -> u32 {
    number.clamp(0.0, 10_000.0) as u32
}

fn milliseconds(seconds: f64) -> u64 {
    u64::from(whole(seconds.min(10.0) * 1000.0)) + u64::from(whole((seconds - 10.0).max(0.0))) * 1000
}

#[cfg(test)]
mod tests {
    use menace_model::presets::{CanonicalProfile, FailureMode, ProfileSeverity, canonical, read};

    use super::failure_modes::{STRAINED_DISK, STRAINED_MEMORY};
    use super::*;

    fn of(text: &str) -> StressProfile {
        StressProfile::of(&read(text).unwrap()[0], CallsPerCell::default())
    }

    #[test]
    fn canonical_profiles_are_translated() {
        let of =
            |profile, severity| StressProfile::of(&canonical(profile, severity), CallsPerCell::default());
        let low = of(CanonicalProfile::HostileInput, ProfileSeverity::Low);
        assert_eq!((low.strategy, low.calls), (InputStrategy::Hostile, 28));
        assert_eq!(of(CanonicalProfile::HostileInput, ProfileSeverity::High).calls, 47);
        let burst = of(CanonicalProfile::ConcurrencySpike, ProfileSeverity::High);
        assert_eq!(burst.burst, Some(BurstSize { threads: 50, tasks: 100 }));
        assert!(burst.is_paired());
        let drift = of(CanonicalProfile::SchemaDrift, ProfileSeverity::High);
        assert!((drift.drift - 0.2).abs() < 1e-9);
        let slow = of(CanonicalProfile::HighLatencyApi, ProfileSeverity::High);
        let link = slow.world.network.unwrap().shape.into;
        assert_eq!((link.delay, link.jitter), (Duration::from_millis(250), Duration::from_millis(25)));
        assert!((link.loss - 0.1).abs() < 1e-9);
        assert_eq!(
            of(CanonicalProfile::FlakyUpstream, ProfileSeverity::High).upstream,
            Some(UpstreamFault::Flaky { failures: 5, requests: 20 })
        );
    }

    #[test]
    fn limits_of_a_preset_apply_to_all_failure_modes() {
        let made = of(r#"{"CPU_LIMIT": "0.5", "MEMORY_LIMIT": "128Mi", "TIMEOUT": 2, "PACKET_LOSS": 5}"#);
        assert_eq!((made.limits.cpus, made.limits.memory), (Some(0.5), Some(128 << 20)));
        assert_eq!((made.within_ms, made.is_baseline, made.proofs.len()), (Some(2000), false, 0));
        let shape = made.world.network.clone().unwrap().shape;
        assert!((shape.out.loss - 0.05).abs() < 1e-9 && made.without_effect.is_empty());
        assert_eq!(made.timeout(Duration::from_secs(5)), Duration::from_secs(37));
    }

    #[test]
    fn a_failure_mode_without_a_value_has_a_default() {
        let made = of(r#"{"FAILURE_MODES": "memory,disk"}"#);
        assert_eq!((made.limits.memory, made.limits.disk), (Some(STRAINED_MEMORY), Some(STRAINED_DISK)));
        assert_eq!(made.proofs, [FaultEvidence::Memory, FaultEvidence::Disk, FaultEvidence::Faulted]);
        assert_eq!(of("{}").calls, 8);
    }

    #[test]
    fn every_failure_mode_has_an_effect_and_evidence_or_a_strategy() {
        let usual = of("{}");
        for (mode, name) in FailureMode::ALL {
            let made = of(&format!(r#"{{"FAILURE_MODES": "{name}"}}"#));
            let does_something = made.world != usual.world
                || made.upstream.is_some()
                || made.strategy != usual.strategy
                || made.burst.is_some()
                || made.limits != usual.limits
                || made.within_ms.is_some();
            assert!(does_something, "{mode:?}");
            assert!(!made.proofs.is_empty() || made.strategy != InputStrategy::Typical, "{mode:?}");
        }
    }

    #[test]
    fn failure_modes_are_combined() {
        let made = of(r#"{"FAILURE_MODES": ["network", "hostile_input"], "BANDWIDTH_LIMIT": "2Mbps"}"#);
        assert_eq!(made.strategy, InputStrategy::Hostile);
        assert_eq!(made.world.network.unwrap().shape.out.rate, Some(2_000_000));
    }
}
