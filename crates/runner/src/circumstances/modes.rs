//! What each failure mode does to calls.

use std::time::Duration;

use menace_model::faults::FaultRule;
use menace_model::network::{Fallback, HostPattern, Mocks, NetworkSpec, Shape};
use menace_model::presets::{FailureMode, Preset};

use super::{Burst, Circumstances, Proof, Upstream, whole};
use crate::stubs::Strategy;

/// Cores when a preset strains the CPU and does not say how much.
const STRAINED_CPUS: f64 = 0.2;
/// Bytes when a preset strains memory and does not say how much.
pub(super) const STRAINED_MEMORY: u64 = 64 << 20;
/// Bytes when a preset strains the disk and does not say how much.
pub(super) const STRAINED_DISK: u64 = 1 << 20;
/// Milliseconds when a preset strains time and does not say how much.
const STRAINED_MS: u64 = 500;
/// Packets when a preset makes the network slow and does not say how.
const SLOW: Disturbance =
    Disturbance { latency: 200.0, jitter: 20.0, loss: 0.05, duplicate: 0.0, rate: None };
/// The same when it throttles the network.
const THROTTLED: Disturbance =
    Disturbance { latency: 0.0, jitter: 0.0, loss: 0.05, duplicate: 0.0, rate: Some(1_000_000) };
/// Requests that go wrong when a preset does not say how many.
const FLAKY_REQUESTS: f64 = 1.0;
/// Of so many.
const ALL_REQUESTS: f64 = 20.0;
/// What goes wrong with what calls write, when a preset breaks the disk: it is full, and what was written before does not
/// get there. A call often writes once, and a fault that it does not meet says nothing about it.
const FAILING_DISK: [&str; 3] = ["write=ENOSPC,path=/workspace/*", "write=ENOSPC,path=/tmp/*", "fsync=EIO"];
const CORRUPTING_DISK: [&str; 2] = ["write=corrupt,path=/workspace/*", "write=corrupt,path=/tmp/*"];

/// Does what a mode says.
pub(super) fn does(mode: FailureMode, to: &mut Circumstances, preset: &Preset) {
    match mode {
        FailureMode::HostileInput => to.strategy = Strategy::Hostile,
        FailureMode::UserMisuse => to.strategy = Strategy::Misuse,
        FailureMode::SchemaDrift => {
            to.strategy = Strategy::Drift;
            let drift = to.drift;
            mocks_of(to).drift = drift;
            to.proofs.push(Proof::Drifted);
        }
        FailureMode::ConcurrencySpike => {
            let count = |key, usual| preset.number(key).map_or(usual, whole);
            to.burst =
                Some(Burst { threads: count("THREAD_BURST", 10), tasks: count("ASYNC_TASK_BURST", 20) });
            to.proofs.push(Proof::Overlap);
        }
        FailureMode::ResourceStrain | FailureMode::IoCpuStrain | FailureMode::Cpu | FailureMode::CpuSpike => {
            to.limits.cpus.get_or_insert(STRAINED_CPUS);
            to.proofs.push(Proof::Starved);
        }
        FailureMode::Memory => {
            to.limits.memory.get_or_insert(STRAINED_MEMORY);
            to.proofs.push(Proof::Memory);
        }
        FailureMode::Disk => {
            to.limits.disk.get_or_insert(STRAINED_DISK);
            to.world.faults.extend(rules(&FAILING_DISK));
            to.proofs.extend([Proof::Disk, Proof::Faulted]);
        }
        FailureMode::Timeout => {
            to.within_ms.get_or_insert(STRAINED_MS);
            to.proofs.push(Proof::Deadline);
        }
        FailureMode::HighLatency | FailureMode::HighLatencyApi | FailureMode::LatencySpike => {
            network_of(to).shape = disturbed(&of_preset(preset, &SLOW));
            to.proofs.push(Proof::Delayed);
        }
        FailureMode::Network => {
            network_of(to).shape = disturbed(&of_preset(preset, &THROTTLED));
            to.proofs.push(Proof::Disturbed);
        }
        FailureMode::NetworkPartition => {
            network_of(to).shape.partition = vec![HostPattern::Any];
            to.proofs.push(Proof::Disturbed);
        }
        FailureMode::FlakyUpstream => {
            let failures = preset.number("UPSTREAM_FAILURES").unwrap_or(FLAKY_REQUESTS);
            let requests = preset.number("UPSTREAM_REQUESTS").unwrap_or(ALL_REQUESTS);
            let [failures, requests] = [failures, requests].map(|count| u64::from(whole(count)));
            to.upstream = Some(Upstream::Flaky { failures, requests: requests.max(failures).max(1) });
            to.proofs.push(Proof::Upstream);
        }
        FailureMode::ChaoticFailure => {
            to.upstream = Some(Upstream::Chaotic);
            to.world.faults.extend(rules(&CORRUPTING_DISK));
            to.proofs.extend([Proof::Upstream, Proof::Faulted]);
        }
        FailureMode::DiskCorruption => {
            to.world.faults.extend(rules(&CORRUPTING_DISK));
            to.proofs.push(Proof::Faulted);
        }
    }
}

fn rules(written: &[&str]) -> Vec<FaultRule> {
    written.iter().map(|rule| rule.parse().expect("a test reads all of them")).collect()
}

/// The network of a preset: somebody plausible answers, and packets are disturbed as the preset says.
pub(super) fn network(preset: &Preset) -> NetworkSpec {
    let mocks = Mocks { fallback: Fallback::Plausible, ..Mocks::default() };
    NetworkSpec {
        mocks: Some(mocks),
        shape: disturbed(&of_preset(preset, &Disturbance::default())),
        ..NetworkSpec::default()
    }
}

fn network_of(to: &mut Circumstances) -> &mut NetworkSpec {
    to.world.network.get_or_insert_default()
}

fn mocks_of(to: &mut Circumstances) -> &mut Mocks {
    network_of(to).mocks.get_or_insert_default()
}

/// What a preset says about packets, in milliseconds, shares and bits in a second.
#[derive(Debug, Clone, Copy, Default)]
struct Disturbance {
    latency: f64,
    jitter: f64,
    loss: f64,
    duplicate: f64,
    rate: Option<u64>,
}

/// What a preset says, and where it says nothing what is usual.
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
