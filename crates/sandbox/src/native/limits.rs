//! From what was asked for to what this host can keep.

use std::collections::BTreeMap;

use menace_model::sandbox::{Controller, Limits};

use super::cgroup::{Availability, Hierarchies};
use crate::SandboxError;

/// Limits with a value for everything, and who keeps each.
#[derive(Debug)]
pub(super) struct Kept {
    /// For the cgroup: only what it is to keep.
    pub(super) by_cgroup: Limits,
    /// Controllers that only count.
    pub(super) counted: Vec<Controller>,
    /// The memory of each process, where there is no controller for that of all.
    pub(super) data_bytes: Option<u64>,
    /// What was not asked for and cannot be kept.
    pub(super) left_out: Vec<String>,
}

impl Kept {
    /// Of what keeps limits on this host, what keeps one for this sandbox.
    pub(super) fn keepers(&self, host: BTreeMap<Controller, String>) -> BTreeMap<Controller, String> {
        let is_used = |controller: &Controller| match controller {
            Controller::Memory => self.by_cgroup.memory.is_some(),
            Controller::Cpu => self.by_cgroup.cpus.is_some(),
            Controller::CpuAccounting => self.counted.contains(controller),
            Controller::Pids => true,
            Controller::Io | Controller::Freezer => false,
        };
        host.into_iter().filter(|(controller, _)| is_used(controller)).collect()
    }

    /// Whether there is anything for a cgroup to do.
    pub(super) fn needs_group(&self) -> bool {
        self.by_cgroup.memory.is_some()
            || self.by_cgroup.pids.is_some()
            || self.by_cgroup.cpus.is_some()
            || !self.counted.is_empty()
    }
}

/// Decides who keeps which limit.
pub(super) fn keep(limits: &Limits, hierarchies: &Hierarchies) -> Kept {
    let mut by_cgroup = limits.clone();
    let mut kept_left_out = Vec::new();
    let mut data_bytes = None;
    match hierarchies.availability(Controller::Memory) {
        Availability::Available { .. } => by_cgroup.memory = Some(limits.effective_memory()),
        Availability::Unavailable { reason } if limits.memory.is_none() => {
            data_bytes = Some(limits.effective_memory());
            kept_left_out.push(format!(
                "limit the memory of all processes together, and notice when it runs out: {reason}"
            ));
        }
        // It was asked for: making the group will say why it cannot be kept.
        Availability::Unavailable { .. } => {}
    }
    let is_available = |controller: &Controller| {
        matches!(hierarchies.availability(*controller), Availability::Available { .. })
    };
    // Where there is no controller, the limit on processes is kept by the user namespace.
    by_cgroup.pids = is_available(&Controller::Pids).then(|| limits.effective_pids());
    let counted = [Controller::CpuAccounting, Controller::Memory].into_iter().filter(is_available).collect();
    Kept { by_cgroup, counted, data_bytes, left_out: kept_left_out }
}

/// Refuses limits that no sandbox on this host can have.
pub(super) fn check(limits: &Limits) -> Result<(), SandboxError> {
    let host = Host::look()?;
    let memory = limits.effective_memory();
    if limits.memory.is_some_and(|asked| asked > host.memory) {
        return refuse(
            format!("a memory limit of {} is more than this host has", mebibytes(memory)),
            format!("ask for at most {}", mebibytes(host.memory)),
        );
    }
    if memory < SMALLEST_MEMORY {
        return refuse(
            format!("a memory limit of {memory} bytes is too small to start anything"),
            format!("ask for at least {}", mebibytes(SMALLEST_MEMORY)),
        );
    }
    if limits.effective_disk() + SMALLEST_MEMORY > memory {
        return refuse(
            format!(
                "a disk of {} leaves nothing of {} of memory, where the files of a sandbox are",
                mebibytes(limits.effective_disk()),
                mebibytes(memory)
            ),
            "ask for more memory or a smaller disk".into(),
        );
    }
    if limits.effective_disk() < 64 << 10 {
        return refuse("a disk below 64 KiB has no room for any file".into(), "ask for at least 64k".into());
    }
    if let Some(cpus) = limits.cpus
        && !(0.01..=host.cpus).contains(&cpus)
    {
        return refuse(
            format!("{cpus} CPUs cannot be given: this host has {}", host.cpus),
            format!("ask for 0.01 to {}", host.cpus),
        );
    }
    if limits.effective_pids() < 2 || limits.effective_pids() > host.pids {
        return refuse(
            format!("{} processes cannot be allowed on this host", limits.effective_pids()),
            format!("ask for 2 to {}", host.pids),
        );
    }
    if limits.open_files < 16 || limits.open_files > host.open_files {
        return refuse(
            format!("{} open files cannot be allowed on this host", limits.open_files),
            format!("ask for 16 to {}", host.open_files),
        );
    }
    Ok(())
}

/// Less is refused, and so much stays free beside the disk. A choice of ours: with less, what fails first is the
/// sandbox's own first process.
const SMALLEST_MEMORY: u64 = 4 << 20;

struct Host {
    memory: u64,
    cpus: f64,
    pids: u64,
    open_files: u64,
}

impl Host {
    fn look() -> Result<Self, SandboxError> {
        let system = rustix::system::sysinfo();
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let pids = std::fs::read_to_string("/proc/sys/kernel/pid_max")
            .and_then(|text| text.trim().parse().map_err(std::io::Error::other))
            .map_err(SandboxError::io("read /proc/sys/kernel/pid_max"))?;
        let cpus = std::thread::available_parallelism().map_err(SandboxError::io("count the CPUs"))?;
        Ok(Self {
            memory: system.totalram * u64::from(system.mem_unit),
            cpus: cpus.get() as f64,
            pids,
            // No limit of the process; the kernel has one of its own and says so when it is reached.
            open_files: files.maximum.unwrap_or(u64::MAX),
        })
    }
}

fn refuse(problem: String, hint: String) -> Result<(), SandboxError> {
    Err(SandboxError::Refused { problem, hint })
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
