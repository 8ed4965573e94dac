//! What a sandbox answers.

use serde::{Deserialize, Serialize};

/// How a command ended and what it took. A timeout, a full disk or a kill is a field, never a magic exit code.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one way to end, and several can be true at once")]
pub struct ExecOutcome {
    /// What the command returned; nothing after a signal.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// It was killed because its time was over.
    pub timed_out: bool,
    /// It was killed because its CPU time was over.
    pub cpu_exceeded: bool,
    /// The kernel killed a process of the sandbox because memory ran out while the command ran. Without a cgroup for
    /// memory this cannot be seen and is false; `isolation.left_out` says so.
    pub oom: bool,
    /// The disk of the sandbox was full when the command ended.
    pub disk_full: bool,
    /// System calls that were refused while the command ran.
    pub denied: Vec<Denial>,
    /// From the start to the end of the command.
    pub wall_ms: f64,
    /// What it took.
    #[serde(flatten)]
    pub usage: Usage,
    /// What it printed, up to the limit.
    pub stdout: String,
    /// What it said, up to the limit.
    pub stderr: String,
    /// It printed more than is kept.
    pub truncated: bool,
}

/// What commands took. A figure that the host cannot measure is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in user mode. With cgroups of version 1 the sum of both is exact, and their shares are as the kernel's
    /// clock ticks saw them.
    pub cpu_user_ms: Option<f64>,
    /// CPU time in the kernel.
    pub cpu_system_ms: Option<f64>,
    /// Most memory at one time: of the sandbox since it was made where a cgroup counts it, else of its largest process.
    pub peak_rss_bytes: Option<u64>,
    /// Bytes read from block devices.
    pub io_read_bytes: Option<u64>,
    /// Bytes written to block devices.
    pub io_write_bytes: Option<u64>,
    /// How long processes that could run had to wait because the CPU quota was used up; nothing without a quota.
    pub cpu_throttled_ms: Option<f64>,
}

/// A system call that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// Its name, or its number where it has none.
    pub syscall: String,
    /// How often.
    pub count: u64,
}

/// What changed in a sandbox since it was made. Paths are those inside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChanges {
    /// Files that were made or changed, sorted.
    pub written: Vec<String>,
    /// Files of the host directory that are gone in the sandbox, sorted.
    pub deleted: Vec<String>,
}

/// What a sandbox takes now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Since it was made.
    #[serde(flatten)]
    pub usage: Usage,
    /// Memory now.
    pub memory_bytes: Option<u64>,
    /// Processes and threads now.
    pub pids: Option<u64>,
    /// Bytes of files now.
    pub disk_bytes: Option<u64>,
}
