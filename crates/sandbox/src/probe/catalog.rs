//! Catalog of capability probes: name, purpose, and how to enable the probed feature.

use super::cgroups::{ProbedController, controller};
use super::failure::ProbeFailure;
use super::namespaces::{ProbedNamespace, probe_namespace};
use super::result::CapabilityGroup;
use super::{devices, file_systems, idmapped, kvm, landlock, namespaces, queue_discipline, seccomp, tools};

/// Probe of one kernel or host feature.
pub(super) struct CapabilityProbe {
    /// Unique name; also the argument that selects the probe in the child process.
    pub(super) name: &'static str,
    pub(super) group: CapabilityGroup,
    pub(super) required: bool,
    pub(super) purpose: &'static str,
    /// How to enable the feature, unless the child reports a more specific remedy.
    pub(super) remedy: &'static str,
    /// Uses the feature in a short-lived process and returns a description of the result.
    pub(super) attempt: fn() -> Result<String, ProbeFailure>,
}

const NAMESPACE_REMEDY: &str = "run as root, or allow unprivileged user namespaces";
const CGROUP_REMEDY: &str =
    "run as root, or under systemd: systemd-run --user --scope -p Delegate=yes menace …";

/// All probes in display order.
pub(super) const PROBES: &[CapabilityProbe] = &[
    namespace("user namespace", REQUIRED, "privileges inside a sandbox give none outside", namespaces::user),
    namespace("mount namespace", REQUIRED, "a private file system", || {
        probe_namespace(ProbedNamespace::Mount)
    }),
    namespace("pid namespace", REQUIRED, "other processes are invisible; all end together", || {
        probe_namespace(ProbedNamespace::Pid)
    }),
    namespace("net namespace", REQUIRED, "no network except the configured one", || {
        probe_namespace(ProbedNamespace::Net)
    }),
    namespace("ipc namespace", REQUIRED, "no shared memory or queues with the host", || {
        probe_namespace(ProbedNamespace::Ipc)
    }),
    namespace("uts namespace", REQUIRED, "a private host name", || probe_namespace(ProbedNamespace::Uts)),
    namespace("cgroup namespace", OPTIONAL, "cgroups of the host are invisible", || {
        probe_namespace(ProbedNamespace::Cgroup)
    }),
    namespace("time namespace", OPTIONAL, "adjustable boot and monotonic clocks", || {
        probe_namespace(ProbedNamespace::Time)
    }),
    namespace("nested user namespace", OPTIONAL, "sandboxes inside sandboxes", namespaces::nested_user),
    CapabilityProbe {
        name: "clone3 and pidfd",
        group: CapabilityGroup::Namespaces,
        required: OPTIONAL,
        purpose: "no race when sandboxes start and end",
        remedy: "Linux 5.4 or newer; in a container, --security-opt seccomp=unconfined",
        attempt: namespaces::clone3_with_pidfd,
    },
    cgroup("memory controller", "memory limits", || controller(ProbedController::Memory)),
    cgroup("cpu controller", "processor limits", || controller(ProbedController::Cpu)),
    cgroup("cpuacct controller", "processor time of a whole sandbox", || {
        controller(ProbedController::CpuAccounting)
    }),
    cgroup("pids controller", "limits on the number of processes", || controller(ProbedController::Pids)),
    cgroup("io controller", "limits on reading and writing disks", || controller(ProbedController::Io)),
    cgroup("freezer controller", "pausing a sandbox", || controller(ProbedController::Freezer)),
    CapabilityProbe {
        name: "tmpfs",
        group: CapabilityGroup::FileSystems,
        required: REQUIRED,
        purpose: "a private /tmp, and disk limits",
        remedy: NAMESPACE_REMEDY,
        attempt: file_systems::tmpfs,
    },
    CapabilityProbe {
        name: "overlayfs",
        group: CapabilityGroup::FileSystems,
        required: REQUIRED,
        purpose: "writes never reach the repository",
        remedy: "Linux 5.11 or newer with CONFIG_OVERLAY_FS, and user namespaces",
        attempt: file_systems::overlayfs,
    },
    CapabilityProbe {
        name: "proc",
        group: CapabilityGroup::FileSystems,
        required: REQUIRED,
        purpose: "a /proc with the sandbox's processes only",
        remedy: NAMESPACE_REMEDY,
        attempt: file_systems::proc,
    },
    CapabilityProbe {
        name: "idmapped mounts",
        group: CapabilityGroup::FileSystems,
        required: OPTIONAL,
        purpose: "host files with other owners, without copies",
        remedy: "run as root on Linux 5.12 or newer, on a file system that supports it",
        attempt: idmapped::idmapped_mounts,
    },
    restriction("no_new_privs", REQUIRED, "setuid programs gain no privileges", seccomp::no_new_privileges),
    restriction("seccomp filter", REQUIRED, "unneeded system calls are denied", seccomp::filter),
    restriction(
        "seccomp user notification",
        REQUIRED,
        "faults in chosen system calls",
        seccomp::user_notification,
    ),
    restriction("landlock", OPTIONAL, "a second layer of file access control", landlock::landlock),
    CapabilityProbe {
        name: "kvm",
        group: CapabilityGroup::Devices,
        required: OPTIONAL,
        purpose: "virtual machines at full speed",
        remedy: "enable virtualisation in the firmware or, in a virtual machine, nesting",
        attempt: kvm::kvm,
    },
    CapabilityProbe {
        name: "tun",
        group: CapabilityGroup::Devices,
        required: OPTIONAL,
        purpose: "network policies, mocks and shaping",
        remedy: "modprobe tun",
        attempt: devices::tun,
    },
    CapabilityProbe {
        name: "netem",
        group: CapabilityGroup::Devices,
        required: OPTIONAL,
        purpose: "network shaping by the kernel; menace has its own without it",
        remedy: "modprobe sch_netem, or a kernel with CONFIG_NET_SCH_NETEM",
        attempt: queue_discipline::netem,
    },
    tool("bwrap", "comparison in benchmarks", "apt-get install bubblewrap", tools::bubblewrap),
    tool(
        "docker",
        "the docker backend",
        "start an engine, or set DOCKER_HOST to a reachable one",
        tools::docker,
    ),
    tool("qemu-system-x86_64", "the qemu backend", "apt-get install qemu-system-x86", tools::qemu),
    tool("python3", "running Python code", "apt-get install python3 (3.9 or newer)", tools::python),
];

const REQUIRED: bool = true;
const OPTIONAL: bool = false;

type ProbeAttempt = fn() -> Result<String, ProbeFailure>;

const fn namespace(
    name: &'static str,
    required: bool,
    purpose: &'static str,
    attempt: ProbeAttempt,
) -> CapabilityProbe {
    CapabilityProbe {
        name,
        group: CapabilityGroup::Namespaces,
        required,
        purpose,
        remedy: NAMESPACE_REMEDY,
        attempt,
    }
}

/// Probe of a cgroup controller. Optional: without the controller only sandboxes that request its limits fail.
const fn cgroup(name: &'static str, purpose: &'static str, attempt: ProbeAttempt) -> CapabilityProbe {
    CapabilityProbe {
        name,
        group: CapabilityGroup::Cgroups,
        required: OPTIONAL,
        purpose,
        remedy: CGROUP_REMEDY,
        attempt,
    }
}

const fn restriction(
    name: &'static str,
    required: bool,
    purpose: &'static str,
    attempt: ProbeAttempt,
) -> CapabilityProbe {
    let remedy =
        "a distribution kernel, Linux 5.13 or newer; in a container, --security-opt seccomp=unconfined";
    CapabilityProbe { name, group: CapabilityGroup::Restrictions, required, purpose, remedy, attempt }
}

const fn tool(
    name: &'static str,
    purpose: &'static str,
    remedy: &'static str,
    attempt: ProbeAttempt,
) -> CapabilityProbe {
    CapabilityProbe { name, group: CapabilityGroup::Tools, required: OPTIONAL, purpose, remedy, attempt }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_groups_are_together() {
        let mut names: Vec<_> = PROBES.iter().map(|probe| probe.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PROBES.len());
        let mut groups: Vec<_> = PROBES.iter().map(|probe| probe.group.name()).collect();
        groups.dedup();
        assert_eq!(groups.len(), 6, "{groups:?}");
    }
}
