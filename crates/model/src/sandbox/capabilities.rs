//! What a backend can do, and what a sandbox of it was found to have.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a backend can do on this host. Callers ask here and never for the kind of backend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one question that callers ask by name")]
pub struct Capabilities {
    /// `native`, `docker`, `qemu` or `fake`.
    pub backend: String,
    /// What the code inside is separated by is a kernel of its own or the host's, and it may be hostile.
    pub isolates: bool,
    /// The limits that can be kept, with the controller that keeps each: `v2`, `v1` or another mechanism.
    pub controllers: BTreeMap<Controller, String>,
    /// How sandboxes are paused.
    pub pause: Option<PauseMethod>,
    /// Snapshots and forks.
    pub snapshot: bool,
    /// Refused system calls are reported.
    pub reports_denied: bool,
    /// Commands can be given any user id inside.
    pub any_user: bool,
    /// Host directories can be shared so that what is written inside is written to the host.
    pub read_write: bool,
    /// Sandboxes can have a network whose every packet is seen.
    pub network: bool,
    /// System calls can be made to go wrong.
    pub faults: bool,
    /// Commands can have a terminal.
    pub terminal: bool,
    /// Programs inside that listen can be reached.
    pub ports: bool,
    /// Limits can be changed while a sandbox runs.
    pub live_limits: bool,
    /// Files can be watched.
    pub watch: bool,
    /// Sandboxes are made of images.
    pub images: bool,
    /// Sandboxes outlive the process that made them, and another one can take them over.
    pub outlives: bool,
    /// A sandbox ends at once, whatever its commands do. Docker's engine takes ten seconds to kill a container in which a command
    /// waits for somebody to read what it prints.
    pub ends_at_once: bool,
}

/// What can be limited or counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// Memory.
    Memory,
    /// CPU quota.
    Cpu,
    /// CPU time.
    CpuAccounting,
    /// Processes and threads.
    Pids,
    /// Block devices.
    Io,
    /// Stopping all processes at once.
    Freezer,
}

/// How sandboxes are paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PauseMethod {
    /// By the kernel; the processes cannot notice.
    Freezer,
    /// By SIGSTOP; the processes can notice that they were continued.
    Signals,
}

/// What a sandbox does, as its backend sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxState {
    /// It takes commands.
    Running,
    /// Its processes stand still.
    Paused,
    /// It has files and no process, not even one of ours.
    Ended,
}

/// What a sandbox was found to have, read from the kernel by its first process and compared with the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one answer of the kernel, and users read them by name"
)]
pub struct Isolation {
    /// A user namespace of its own.
    pub user_ns: bool,
    /// A mount namespace of its own.
    pub mount_ns: bool,
    /// A process namespace of its own.
    pub pid_ns: bool,
    /// A network namespace of its own.
    pub net_ns: bool,
    /// An IPC namespace of its own.
    pub ipc_ns: bool,
    /// A host name of its own.
    pub uts_ns: bool,
    /// A cgroup namespace of its own.
    pub cgroup_ns: bool,
    /// A clock namespace of its own.
    pub time_ns: bool,
    /// No capability in any set.
    pub no_capabilities: bool,
    /// No program can give more rights.
    pub no_new_privs: bool,
    /// A filter on system calls.
    pub seccomp: bool,
    /// The version of Landlock that restricts it; 0 without.
    pub landlock_abi: u32,
    /// What is limited or counted for this sandbox, with what does it.
    pub controllers: BTreeMap<Controller, String>,
    /// Steps that this host cannot do and that were optional.
    pub left_out: Vec<String>,
}
