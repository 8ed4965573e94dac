//! Translation of each failure mode into limits, faults and evidence.

use std::time::Duration;

use menace_model::faults::FaultRule;
use menace_model::network::{Fallback, HostPattern, Mocks, NetworkSpec, Shape};
use menace_model::presets::{FailureMode, Preset};

use super::{Burst, Circumstances, Proof, Upstream, whole};
use crate::stubs::Strategy;

/// CPU quota in cores when a preset strains the CPU without a value.
const STRAINED_CPUS: f64 = 0.2;
/// Memory limit in bytes when a preset strains memory without a value.
pub(super) const STRAINED_MEMORY: u64 = 64 << 20;
/// Disk limit in bytes when a preset strains the disk without a value.
pub(super) const STRAINED_DISK: u64 = 1 << 20;
/// Deadline in milliseconds when a preset strains time without a value.
const STRAINED_MS: u64 = 500;
/// Packet faults of a slow network when a preset has no values.
const SLOW: Disturbance =
    Disturbance { latency: 200.0, jitter: 20.0, loss: 0.05, duplicate: 0.0, rate: None };
/// Packet faults of a throttled network when a preset has no values.
const THROTTLED: Disturbance =
    Disturbance { latency: 0.0, jitter: 0.0, loss: 0.05, duplicate: 0.0, rate: Some(1_000_000) };
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
pub(super) fn does(mode: FailureMode, profile: &mut Circumstances, preset: &Preset) {
    match mode {
        FailureMode::HostileInput => profile.strategy = Strategy::Hostile,
        FailureMode::UserMisuse => profile.strategy = Strategy::Misuse,
        FailureMode::SchemaDrift => {
            profile.strategy = Strategy::Drift;
            let drift = profile.drift;
            mocks_of(profile).drift = drift;
            profile.proofs.push(Proof::Drifted);
        }
        FailureMode::ConcurrencySpike => {
            let count = |key, usual| preset.number(key).map_or(usual, whole);
            profile.burst =
                Some(Burst { threads: count("THREAD_BURST", 10), tasks: count("ASYNC_TASK_BURST", 20) });
            profile.proofs.push(Proof::Overlap);
        }
        FailureMode::ResourceStrain | FailureMode::IoCpuStrain | FailureMode::Cpu | FailureMode::CpuSpike => {
            profile.limits.cpus.get_or_insert(STRAINED_CPUS);
            profile.proofs.push(Proof::Starved);
        }
        FailureMode::Memory => {
            profile.limits.memory.get_or_insert(STRAINED_MEMORY);
            profile.proofs.push(Proof::Memory);
        }
        FailureMode::Disk => {
            profile.limits.disk.get_or_insert(STRAINED_DISK);
            profile.world.faults.extend(rules(&FAILING_DISK));
            profile.proofs.extend([Proof::Disk, Proof::Faulted]);
        }
        FailureMode::Timeout => {
            profile.within_ms.get_or_insert(STRAINED_MS);
            profile.proofs.push(Proof::Deadline);
        }
        FailureMode::HighLatency | FailureMode::HighLatencyApi | FailureMode::LatencySpike => {
            network_of(profile).shape = disturbed(&of_preset(preset, &SLOW));
            profile.proofs.push(Proof::Delayed);
        }
        FailureMode::Network => {
            network_of(profile).shape = disturbed(&of_preset(preset, &THROTTLED));
            profile.proofs.push(Proof::Disturbed);
        }
        FailureMode::NetworkPartition => {
            network_of(profile).shape.partition = vec![HostPattern::Any];
            profile.proofs.push(Proof::Disturbed);
        }
        FailureMode::FlakyUpstream => {
            let failures = preset.number("UPSTREAM_FAILURES").unwrap_or(FLAKY_REQUESTS);
            let requests = preset.number("UPSTREAM_REQUESTS").unwrap_or(ALL_REQUESTS);
            let [failures, requests] = [failures, requests].map(|count| u64::from(whole(count)));
            profile.upstream = Some(Upstream::Flaky { failures, requests: requests.max(failures).max(1) });
            profile.proofs.push(Proof::Upstream);
        }
        FailureMode::ChaoticFailure => {
            profile.upstream = Some(Upstream::Chaotic);
            profile.world.faults.extend(rules(&CORRUPTING_DISK));
            profile.proofs.extend([Proof::Upstream, Proof::Faulted]);
        }
        FailureMode::DiskCorruption => {
            profile.world.faults.extend(rules(&CORRUPTING_DISK));
            profile.proofs.push(Proof::Faulted);
        }
    }
}

fn rules(written: &[&str]) -> Vec<FaultRule> {
    written.iter().map(|rule| rule.parse().expect("the rules are constants that a test parses")).collect()
}

/// Network of a preset: mocks that answer plausibly, and packets shaped as the preset says.
pub(super) fn network(preset: &Preset) -> NetworkSpec {
    let mocks = Mocks { fallback: Fallback::Plausible, ..Mocks::default() };
    NetworkSpec {
        mocks: Some(mocks),
        shape: disturbed(&of_preset(preset, &Disturbance::default())),
        ..NetworkSpec::default()
    }
}

fn network_of(profile: &mut Circumstances) -> &mut NetworkSpec {
    profile.world.network.get_or_insert_default()
}

fn mocks_of(profile: &mut Circumstances) -> &mut Mocks {
    network_of(profile).mocks.get_or_insert_default()
}

/// Packet faults of a preset: milliseconds, shares, and bits per second.
#[derive(Debug, Clone, Copy, Default)]
struct Disturbance {
    latency: f64,
    jitter: f64,
    loss: f64,
    duplicate: f64,
    rate: Option<u64>,
}

/// Packet faults of a preset, with defaults for missing keys.
fn of_preset(preset: &Preset, usual: &Disturbance) -> Disturbance {
    let number = |key, usual| preset.number(key).unwrap_or(usual);
    let share = |key, usual: f64| preset.number(key).map_or(usual, |percent| percent / 100.0);
    Disturbance {
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

fn disturbed(by: &Disturbance) -> Shape {
    let time = |milliseconds: f64| Duration::from_secs_f64(milliseconds.clamp(0.0, 600_000.0) / 1e3);
    Shape::symmetric(time(by.latency), time(by.jitter)).both(|link| {
        link.loss = by.loss;
        link.duplicate = by.duplicate;
        link.rate = by.rate;
    })
}
