//! Specification of a sandbox and of the commands in it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::faults::FaultRule;
use crate::network::NetworkMode;

/// Path of the user's files inside a sandbox; also the home directory and the initial working directory.
pub const WORKSPACE: &str = "/workspace";

/// Specification of a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// Initial content of `/workspace`.
    pub workspace: WorkspaceContent,
    /// Further host directories and files that are visible inside.
    pub mounts: Vec<HostMount>,
    /// Environment variables of every command in the sandbox, in addition to the standard ones.
    pub environment: BTreeMap<String, String>,
    /// Limits of all commands together.
    pub limits: SandboxLimits,
    /// Network of the commands.
    pub network: NetworkMode,
    /// User of the commands inside the sandbox.
    pub user: SandboxUser,
    /// Faults injected into system calls.
    pub faults: Vec<FaultRule>,
    /// Seed of the fault injector.
    pub fault_seed: u64,
    /// Image that provides the files outside of `/workspace`, on backends with images; `None` for the default image.
    pub image: Option<String>,
    /// Only `/workspace` and `/tmp` are writable.
    pub read_only_root: bool,
    /// Labels of the owner, for backends that attach labels to their resources.
    pub labels: BTreeMap<String, String>,
    /// Commands may create namespaces and mounts, so that they can run sandboxes themselves. Only for trusted programs:
    /// they can make more system calls.
    #[serde(default)]
    pub isolates_others: bool,
}

/// Initial content of `/workspace`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkspaceContent {
    /// Nothing.
    #[default]
    Empty,
    /// A host directory; writes stay in the sandbox.
    CopyOnWrite(PathBuf),
    /// A host directory; writes go to the host.
    ReadWrite(PathBuf),
}

impl WorkspaceContent {
    /// The host directory, if there is one.
    pub fn directory(&self) -> Option<&PathBuf> {
        match self {
            Self::Empty => None,
            Self::CopyOnWrite(directory) | Self::ReadWrite(directory) => Some(directory),
        }
    }
}

/// A host directory or file that is visible inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostMount {
    /// Path on the host.
    pub source: PathBuf,
    /// Absolute path inside the sandbox.
    pub target: PathBuf,
    /// Whether the sandbox may write to it.
    pub access: MountAccess,
}

/// Access of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MountAccess {
    /// The sandbox cannot write to it.
    ReadOnly,
    /// The sandbox can write to it.
    ReadWrite,
}

/// Limits of the commands of a sandbox together. A requested limit that cannot be enforced is an error, never ignored;
/// a limit that was not requested has its default, as far as the host can enforce it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Memory in bytes, without swap. Written files live in memory and count.
    pub memory: Option<u64>,
    /// CPU cores, fractions allowed; `None` for all cores.
    pub cpus: Option<f64>,
    /// CPU time of one command with all its child processes; `None` for no limit.
    pub cpu_time: Option<Duration>,
    /// Number of processes and threads.
    pub pids: Option<u64>,
    /// Size of written files, in bytes.
    pub disk: Option<u64>,
    /// Open files of one process.
    pub open_files: u64,
    /// Bytes recorded of stdout and of stderr of one command.
    pub output: u64,
}

impl SandboxLimits {
    /// Default memory, in bytes.
    pub const MEMORY: u64 = 1 << 30;
    /// Default number of processes and threads.
    pub const PIDS: u64 = 512;
    /// Default size of written files, in bytes.
    pub const DISK: u64 = 256 << 20;
    /// Default number of open files of a process.
    pub const OPEN_FILES: u64 = 1024;
    /// Default number of recorded bytes of each stream.
    pub const OUTPUT: u64 = 512 << 10;

    /// Memory limit in effect.
    pub fn effective_memory(&self) -> u64 {
        self.memory.unwrap_or(Self::MEMORY)
    }

    /// Limit of processes and threads in effect.
    pub fn effective_pids(&self) -> u64 {
        self.pids.unwrap_or(Self::PIDS)
    }

    /// Limit of written files in effect: by default at most half of the memory. Files live in memory, and a full disk
    /// should be an error of the program that fills it, not an OOM kill of the sandbox.
    pub fn effective_disk(&self) -> u64 {
        self.disk.unwrap_or_else(|| Self::DISK.min(self.effective_memory() / 2))
    }
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            memory: None,
            cpus: None,
            cpu_time: None,
            pids: None,
            disk: None,
            open_files: Self::OPEN_FILES,
            output: Self::OUTPUT,
        }
    }
}

/// User of the commands inside the sandbox. Outside they always run as an unprivileged user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxUser {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl Default for SandboxUser {
    fn default() -> Self {
        Self { uid: 1000, gid: 1000 }
    }
}

/// A command to run in a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecRequest {
    /// The program and its arguments; the program is looked up in the `PATH` of the sandbox.
    pub command: Vec<String>,
    /// Environment variables of this command only.
    pub environment: BTreeMap<String, String>,
    /// Working directory; `None` for `/workspace`.
    pub directory: Option<PathBuf>,
    /// Content of its stdin.
    pub stdin: Vec<u8>,
    /// Time after which it is killed with all its child processes.
    pub timeout: Option<Duration>,
    /// No other command runs in the sandbox at the same time. It starts a little faster, and its timeout kills every
    /// process in the sandbox.
    pub exclusive: bool,
    /// Terminal of this size instead of the standard streams; stdout and stderr are one stream then.
    pub terminal: Option<TerminalSize>,
}

/// Size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Characters per line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { columns: 80, rows: 24 }
    }
}

/// New limits of a running sandbox; `None` leaves a limit unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitsChange {
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// CPU cores.
    pub cpus: Option<f64>,
    /// Processes and threads.
    pub pids: Option<u64>,
}

impl ExecRequest {
    /// A command with defaults for everything else.
    pub fn new<T: Into<String>>(command: impl IntoIterator<Item = T>) -> Self {
        Self { command: command.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Makes the command exclusive: no other command runs in the sandbox.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    /// Sets the timeout.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}
