//! Capabilities of a backend, and the isolation that was measured in a sandbox.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Capabilities of a backend on this host. Callers check these and never the kind of backend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one capability that callers check by name")]
pub struct BackendCapabilities {
    /// `native`, `docker` or `qemu`; `fake` in tests.
    pub backend: String,
    /// Hostile code is contained: by the isolation of the host's kernel or by a kernel of its own.
    pub isolates: bool,
    /// Limits that can be enforced, with the mechanism of each: cgroup `v2`, `v1` or another.
    pub controllers: BTreeMap<ResourceController, String>,
    /// How sandboxes are paused.
    pub pause: Option<PauseMethod>,
    /// Sandboxes can be snapshotted and forked.
    pub snapshot: bool,
    /// Denied system calls are reported.
    pub reports_denied: bool,
    /// Commands can run as any user id inside the sandbox.
    pub any_user: bool,
    /// Host directories can be mounted read-write.
    pub read_write: bool,
    /// Sandboxes can have a managed network, in which menace handles every packet.
    pub network: bool,
    /// Faults can be injected into system calls.
    pub faults: bool,
    /// Commands can have a terminal.
    pub terminal: bool,
    /// Listening ports inside the sandbox can be reached from outside.
    pub ports: bool,
    /// Limits can be changed while a sandbox runs.
    pub live_limits: bool,
    /// Files can be watched.
    pub watch: bool,
    /// Sandboxes are created from images.
    pub images: bool,
    /// Sandboxes outlive the process that created them, and another process can adopt them.
    pub outlives: bool,
    /// A sandbox ends immediately, independent of its commands. The Docker engine takes ten seconds to kill a container in
    /// which a command is blocked on writing to a full output pipe.
    pub ends_at_once: bool,
}

/// A resource that can be limited or accounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceController {
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
    /// Freezing of all processes together.
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

/// State of a sandbox, as its backend sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxState {
    /// Accepts commands.
    Running,
    /// All its processes are paused.
    Paused,
    /// Has files but no process, not even an init process.
    Ended,
}

/// Isolation of a sandbox, as its init process read it from the kernel and compared it with the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one fact reported by the kernel, and users read them by name"
)]
pub struct SandboxIsolation {
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
    /// No program can gain privileges (`no_new_privs`).
    pub no_new_privs: bool,
    /// A seccomp filter on system calls.
    pub seccomp: bool,
    /// Version of the Landlock ABI that restricts it; 0 without Landlock.
    pub landlock_abi: u32,
    /// Resources that are limited or accounted for this sandbox, with the mechanism of each.
    pub controllers: BTreeMap<ResourceController, String>,
    /// Optional isolation steps that this host does not support.
    pub left_out: Vec<String>,
}
