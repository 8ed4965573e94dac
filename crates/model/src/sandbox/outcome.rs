//! Results of commands, usage and file changes of a sandbox.

use serde::{Deserialize, Serialize};

/// Result of a command and its usage. A timeout, a full disk or a kill is a field, never a magic exit code.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one cause of ending, and several can hold")]
pub struct ExecOutcome {
    /// Exit code; `None` after a signal.
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// It was killed at its timeout.
    pub timed_out: bool,
    /// It was killed because it exceeded its CPU time limit.
    pub cpu_exceeded: bool,
    /// The kernel killed a process of the sandbox because memory ran out while the command ran. Without a cgroup for
    /// memory this cannot be seen and is false; `isolation.left_out` says so.
    pub oom: bool,
    /// The disk of the sandbox was full when the command ended.
    pub disk_full: bool,
    /// System calls that were denied while the command ran.
    pub denied: Vec<DeniedSyscall>,
    /// Wall time of the command.
    pub wall_ms: f64,
    /// Resources that it used.
    #[serde(flatten)]
    pub usage: ResourceUsage,
    /// Standard output, up to the limit.
    pub stdout: String,
    /// Standard error, up to the limit.
    pub stderr: String,
    /// The output exceeded the limit and was cut.
    pub truncated: bool,
}

/// Resources that commands used. A value that the host cannot measure is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceUsage {
    /// CPU time in user mode. With cgroup v1 the sum of user and system time is exact, and the split between them is
    /// sampled by the kernel's clock tick.
    pub cpu_user_ms: Option<f64>,
    /// CPU time in kernel mode.
    pub cpu_system_ms: Option<f64>,
    /// Peak memory: of the whole sandbox since its creation where a cgroup accounts for it, else of its largest process.
    pub peak_rss_bytes: Option<u64>,
    /// Bytes read from block devices.
    pub io_read_bytes: Option<u64>,
    /// Bytes written to block devices.
    pub io_write_bytes: Option<u64>,
    /// Time that runnable processes were throttled by the CPU quota; `None` without a quota.
    pub cpu_throttled_ms: Option<f64>,
}

/// A denied system call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeniedSyscall {
    /// Its name, or its number where it has none.
    pub syscall: String,
    /// How often it was denied.
    pub count: u64,
}

/// Files that changed since the creation of a sandbox. Paths are those inside the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChanges {
    /// Files that were created or changed, sorted.
    pub written: Vec<String>,
    /// Files of the host directory that were deleted in the sandbox, sorted.
    pub deleted: Vec<String>,
}

/// Present usage of a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxStats {
    /// Usage since its creation.
    #[serde(flatten)]
    pub usage: ResourceUsage,
    /// Present memory.
    pub memory_bytes: Option<u64>,
    /// Present number of processes and threads.
    pub pids: Option<u64>,
    /// Present size of its files, in bytes.
    pub disk_bytes: Option<u64>,
}
