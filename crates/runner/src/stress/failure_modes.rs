//! Translation of each failure mode into limits, faults and evidence.

use std::time::Duration;

use menace_model::faults::FaultRule;
use menace_model::network::{HostPattern, MockFallback, MockSpec, NetworkConditions, NetworkSpec};
use menace_model::presets::{FailureMode, Preset};

use super::{BurstSize, FaultEvidence, StressProfile, UpstreamFault, whole};
use crate::stubs::InputStrategy;

/// CPU quota in cores when a preset strains the CPU without a value.
const STRAINED_CPUS: f64 = 0.2;
/// Memory limit in bytes when a preset strains memory without a value.
pub(super) const STRAINED_MEMORY: u64 = 64 << 20;
/// Disk limit in bytes when a preset strains the disk without a value.
pub(super) const STRAINED_DISK: u64 = 1 << 20;
/// Deadline in milliseconds when a preset strains time without a value.
const STRAINED_MS: u64 = 500;
/// Packet faults of a slow network when a preset has no values.
const SLOW: PacketFaults =
    PacketFaults { latency: 200.0, jitter: 20.0, loss: 0.05, duplicate: 0.0, rate: None };
/// Packet faults of a throttled network when a preset has no values.
const THROTTLED: PacketFaults =
    PacketFaults { latency: 0.0, jitter: 0.0, loss: 0.05, duplicate: 0.0, rate: Some(1_000_000) };
/// Failing upstream requests when a preset has no value.
const FLAKY_REQUESTS: f64 = 1.0;
/// Upstream requests of which `FLAKY_REQUESTS` fail.
const ALL_REQUESTS: f64 = 20.0;
/// Faults of file writes when a preset breaks the disk: the disk is full, and synchronisation of earlier writes
/// fails. The faults fire at every write, because a call often writes once, and a fault that does not fire says
/// nothing about it.
const FAILING_DISK: [&str; 3] = ["write=ENOSPC,path=/workspace/*", "write=ENOSPC,path=/tmp/*", "fsync=EIO"];
const CORRUPTING_DISK: [&str; 2] = ["write=corrupt,path=/workspace/*", "write=corrupt,path=/tmp/*"];

/// Applies a failure mode to a profile.
pub(super) fn apply_failure_mode(mode: FailureMode, profile: &mut StressProfile, preset: &Preset) {
    match mode {
        FailureMode::HostileInput => profile.strategy = InputStrategy::Hostile,
        FailureMode::UserMisuse => profile.strategy = InputStrategy::Misuse,
        FailureMode::SchemaDrift => {
            profile.strategy = InputStrategy::Drift;
            let drift = profile.drift;
            mocks_of(profile).drift = drift;
            profile.proofs.push(FaultEvidence::Drifted);
        }
        FailureMode::ConcurrencySpike => {
            let count = |key, usual| preset.number(key).map_or(usual, whole);
            profile.burst =
                Some(BurstSize { threads: count("THREAD_BURST", 10), tasks: count("ASYNC_TASK_BURST", 20) });
            profile.proofs.push(FaultEvidence::Overlap);
        }
        FailureMode::ResourceStrain | FailureMode::IoCpuStrain | FailureMode::Cpu | FailureMode::CpuSpike => {
            profile.limits.cpus.get_or_insert(STRAINED_CPUS);
            profile.proofs.push(FaultEvidence::Starved);
        }
        FailureMode::Memory => {
            profile.limits.memory.get_or_insert(STRAINED_MEMORY);
            profile.proofs.push(FaultEvidence::Memory);
        }
        FailureMode::Disk => {
            profile.limits.disk.get_or_insert(STRAINED_DISK);
            profile.world.faults.extend(rules(&FAILING_DISK));
            profile.proofs.extend([FaultEvidence::Disk, FaultEvidence::Faulted]);
        }
        FailureMode::Timeout => {
            profile.within_ms.get_or_insert(STRAINED_MS);
            profile.proofs.push(FaultEvidence::Deadline);
        }
        FailureMode::HighLatency | FailureMode::HighLatencyApi | FailureMode::LatencySpike => {
            network_of(profile).shape = disturbed(&of_preset(preset, &SLOW));
            profile.proofs.push(FaultEvidence::Delayed);
        }
        FailureMode::Network => {
            network_of(profile).shape = disturbed(&of_preset(preset, &THROTTLED));
            profile.proofs.push(FaultEvidence::Disturbed);
        }
        FailureMode::NetworkPartition => {
            network_of(profile).shape.partition = vec![HostPattern::Any];
            profile.proofs.push(FaultEvidence::Disturbed);
        }
        FailureMode::FlakyUpstream => {
            let failures = preset.number("UPSTREAM_FAILURES").unwrap_or(FLAKY_REQUESTS);
            let requests = preset.number("UPSTREAM_REQUESTS").unwrap_or(ALL_REQUESTS);
            let [failures, requests] = [failures, requests].map(|count| u64::from(whole(count)));
            profile.upstream =
                Some(UpstreamFault::Flaky { failures, requests: requests.max(failures).max(1) });
            profile.proofs.push(FaultEvidence::Upstream);
        }
        FailureMode::ChaoticFailure => {
            profile.upstream = Some(UpstreamFault::Chaotic);
            profile.world.faults.extend(rules(&CORRUPTING_DISK));
            profile.proofs.extend([FaultEvidence::Upstream, FaultEvidence::Faulted]);
        }
        FailureMode::DiskCorruption => {
            profile.world.faults.extend(rules(&CORRUPTING_DISK));
            profile.proofs.push(FaultEvidence::Faulted);
        }
    }
}

fn rules(written: &[&str]) -> Vec<FaultRule> {
    written.iter().map(|rule| rule.parse().expect("the rules are constants that a test parses")).collect()
}

/// Network of a preset: mocks that answer plausibly, and packets shaped as the preset says.
pub(super) fn network(preset: &Preset) -> NetworkSpec {
    let mocks = MockSpec { fallback: MockFallback::Plausible, ..MockSpec::default() };
    NetworkSpec {
        mocks: Some(mocks),
        shape: disturbed(&of_preset(preset, &PacketFaults::default())),
        ..NetworkSpec::default()
    }
}

fn network_of(profile: &mut StressProfile) -> &mut NetworkSpec {
    profile.world.network.get_or_insert_default()
}

fn mocks_of(profile: &mut StressProfile) -> &mut MockSpec {
    network_of(profile).mocks.get_or_insert_default()
}

/// Packet faults of a preset: milliseconds, shares, and bits per second.
#[derive(Debug, Clone, Copy, Default)]
struct PacketFaults {
    latency: f64,
    jitter: f64,
    loss: f64,
    duplicate: f64,
    rate: Option<u64>,
}

/// Packet faults of a preset, with defaults for missing keys.
fn of_preset(preset: &Preset, usual: &PacketFaults) -> PacketFaults {
    let number = |key, usual| preset.number(key).unwrap_or(usual);
    let share = |key, usual: f64| preset.number(key).map_or(usual, |percent| percent / 100.0);
    PacketFaults {
        latency: number("NETWORK_LATENCY_MS", usual.latency),
        jitter: number("NETWORK_JITTER_MS", usual.jitter),
        loss: share("PACKET_LOSS", usual.loss),
        duplicate: share("PACKET_DUPLICATION", usual.duplicate),
        rate: preset
            .bits_per_second("BANDWIDTH_LIMIT")
            .or_else(|| preset.bits_per_second("MAX_BANDWIDTH"))
            .filter(|rate| *rate >= 8)
            .or(usual.rate),
    }
}

fn disturbed(by: &PacketFaults) -> NetworkConditions {
    let time = |milliseconds: f64| Duration::from_secs_f64(milliseconds.clamp(0.0, 600_000.0) / 1e3);
    NetworkConditions::symmetric(time(by.latency), time(by.jitter)).both(|link| {
        link.loss = by.loss;
        link.duplicate = by.duplicate;
        link.rate = by.rate;
    })
}
