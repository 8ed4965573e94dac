//! Assignment of requested limits to the mechanisms that enforce them on this host.

use std::collections::BTreeMap;

use menace_model::sandbox::{ResourceController, SandboxLimits};

use super::cgroup::{CgroupHierarchies, ControllerAvailability};
use crate::SandboxError;

/// Limits with defaults filled in, and the mechanism that enforces each.
#[derive(Debug)]
pub(super) struct AssignedLimits {
    /// Limits that the cgroup enforces.
    pub(super) by_cgroup: SandboxLimits,
    /// Controllers that are used only for accounting.
    pub(super) counted: Vec<ResourceController>,
    /// Memory limit of each process, where no controller limits that of all.
    pub(super) data_bytes: Option<u64>,
    /// Default limits that cannot be enforced; they were not requested explicitly.
    pub(super) left_out: Vec<String>,
}

impl AssignedLimits {
    /// The host's mechanisms that enforce a limit of this sandbox.
    pub(super) fn enforcing_controllers(
        &self,
        host: BTreeMap<ResourceController, String>,
    ) -> BTreeMap<ResourceController, String> {
        let is_used = |controller: &ResourceController| match controller {
            ResourceController::Memory => self.by_cgroup.memory.is_some(),
            ResourceController::Cpu => self.by_cgroup.cpus.is_some(),
            ResourceController::CpuAccounting => self.counted.contains(controller),
            ResourceController::Pids => true,
            ResourceController::Io | ResourceController::Freezer => false,
        };
        host.into_iter().filter(|(controller, _)| is_used(controller)).collect()
    }

    /// Whether the sandbox needs a cgroup.
    pub(super) fn needs_group(&self) -> bool {
        self.by_cgroup.memory.is_some()
            || self.by_cgroup.pids.is_some()
            || self.by_cgroup.cpus.is_some()
            || !self.counted.is_empty()
    }
}

/// Assigns each limit to a mechanism.
pub(super) fn assign(limits: &SandboxLimits, hierarchies: &CgroupHierarchies) -> AssignedLimits {
    let mut by_cgroup = limits.clone();
    let mut left_out = Vec::new();
    let mut data_bytes = None;
    match hierarchies.availability(ResourceController::Memory) {
        ControllerAvailability::Available { .. } => by_cgroup.memory = Some(limits.effective_memory()),
        ControllerAvailability::Unavailable { reason, .. } if limits.memory.is_none() => {
            data_bytes = Some(limits.effective_memory());
            left_out.push(format!(
                "limit the total memory of all processes and detect out-of-memory kills: {reason}"
            ));
        }
        // Requested explicitly: creating the group fails with the reason.
        ControllerAvailability::Unavailable { .. } => {}
    }
    let is_available = |controller: &ResourceController| {
        matches!(hierarchies.availability(*controller), ControllerAvailability::Available { .. })
    };
    // Without a pids controller, the user namespace enforces the limit on processes.
    by_cgroup.pids = is_available(&ResourceController::Pids).then(|| limits.effective_pids());
    let counted = [ResourceController::CpuAccounting, ResourceController::Memory]
        .into_iter()
        .filter(is_available)
        .collect();
    AssignedLimits { by_cgroup, counted, data_bytes, left_out }
}

/// Rejects limits that this host cannot provide.
pub(super) fn check(limits: &SandboxLimits) -> Result<(), SandboxError> {
    let host = HostCapacity::read()?;
    let memory = limits.effective_memory();
    if limits.memory.is_some_and(|asked| asked > host.memory) {
        return refuse(
            format!("a memory limit of {} is more than this host has", mebibytes(memory)),
            format!("set at most {}", mebibytes(host.memory)),
        );
    }
    if memory < SMALLEST_MEMORY {
        return refuse(
            format!("a memory limit of {memory} bytes is too small to start a program"),
            format!("set at least {}", mebibytes(SMALLEST_MEMORY)),
        );
    }
    if limits.effective_disk() + SMALLEST_MEMORY > memory {
        return refuse(
            format!(
                "a disk of {} does not fit into {} of memory, which holds the files of a sandbox",
                mebibytes(limits.effective_disk()),
                mebibytes(memory)
            ),
            "set a higher memory limit or a smaller disk".into(),
        );
    }
    if limits.effective_disk() < 64 << 10 {
        return refuse("a disk below 64 KiB is too small for any file".into(), "set at least 64k".into());
    }
    if let Some(cpus) = limits.cpus
        && !(0.01..=host.cpus).contains(&cpus)
    {
        return refuse(
            format!("a limit of {cpus} CPUs is out of range: this host has {}", host.cpus),
            format!("set 0.01 to {}", host.cpus),
        );
    }
    if limits.effective_pids() < 2 || limits.effective_pids() > host.pids {
        return refuse(
            format!("a limit of {} processes is out of range on this host", limits.effective_pids()),
            format!("set 2 to {}", host.pids),
        );
    }
    if limits.open_files < 16 || limits.open_files > host.open_files {
        return refuse(
            format!("a limit of {} open files is out of range on this host", limits.open_files),
            format!("set 16 to {}", host.open_files),
        );
    }
    Ok(())
}

/// Minimum memory limit, and the minimum that stays free beside the disk. Chosen by us: with less, the sandbox's own
/// init process fails first.
const SMALLEST_MEMORY: u64 = 4 << 20;

struct HostCapacity {
    memory: u64,
    cpus: f64,
    pids: u64,
    open_files: u64,
}

impl HostCapacity {
    fn read() -> Result<Self, SandboxError> {
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
            // Without a limit of the process, the kernel's own limit applies and is reported when it is reached.
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
