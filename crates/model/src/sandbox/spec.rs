//! What a sandbox is asked for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::faults::FaultRule;
use crate::network::Network;

/// Where the files of the user are inside a sandbox. It is also the home directory and the first working directory.
pub const WORKSPACE: &str = "/workspace";

/// A sandbox to be made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// What is in `/workspace` at first.
    pub workspace: Workspace,
    /// Further host directories and files that are visible inside.
    pub mounts: Vec<Mount>,
    /// Variables that every command in the sandbox gets, beside the standard ones.
    pub environment: BTreeMap<String, String>,
    /// What commands may use, all of them together.
    pub limits: Limits,
    /// What they can reach.
    pub network: Network,
    /// Who they are inside.
    pub user: User,
    /// System calls that go wrong on purpose.
    pub faults: Vec<FaultRule>,
    /// Where the chance of faults begins.
    pub fault_seed: u64,
    /// What its files outside of `/workspace` are, where backends have images; without it the default one.
    pub image: Option<String>,
    /// Nothing can be written but `/workspace` and `/tmp`.
    pub read_only_root: bool,
    /// What its owner calls it, for backends that write that on what they make.
    pub labels: BTreeMap<String, String>,
    /// What runs in it isolates others itself, so it may make namespaces and mounts of its own. For programs that are
    /// trusted: the kernel answers more system calls of theirs.
    #[serde(default)]
    pub isolates_others: bool,
}

/// What is in `/workspace` at first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workspace {
    /// Nothing.
    #[default]
    Empty,
    /// A host directory; what is written stays in the sandbox.
    CopyOnWrite(PathBuf),
    /// A host directory; what is written is written to the host.
    ReadWrite(PathBuf),
}

impl Workspace {
    /// The host directory, if there is one.
    pub fn directory(&self) -> Option<&PathBuf> {
        match self {
            Self::Empty => None,
            Self::CopyOnWrite(directory) | Self::ReadWrite(directory) => Some(directory),
        }
    }
}

/// A host directory or file that is visible inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// On the host.
    pub source: PathBuf,
    /// Inside; absolute.
    pub target: PathBuf,
    /// Whether the sandbox may change it.
    pub access: Access,
}

/// Whether something may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// No.
    ReadOnly,
    /// Yes.
    ReadWrite,
}

/// What the commands of a sandbox may use together. A limit that was asked for and cannot be kept is an error, never
/// ignored; one that was not asked for has the default, as far as the host can keep it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory in bytes, without swap. Files that are written live in memory and count.
    pub memory: Option<u64>,
    /// CPU cores, fractions allowed; without it all of them.
    pub cpus: Option<f64>,
    /// CPU time of one command with everything it starts; without it any.
    pub cpu_time: Option<Duration>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Bytes of files that can be written.
    pub disk: Option<u64>,
    /// Open files of one process.
    pub open_files: u64,
    /// Bytes of stdout and of stderr that are kept of one command.
    pub output: u64,
}

impl Limits {
    /// Memory when nobody says otherwise.
    pub const MEMORY: u64 = 1 << 30;
    /// Processes and threads when nobody says otherwise.
    pub const PIDS: u64 = 512;
    /// Bytes of files when nobody says otherwise.
    pub const DISK: u64 = 256 << 20;
    /// Open files of a process when nobody says otherwise.
    pub const OPEN_FILES: u64 = 1024;
    /// Bytes kept of each stream when nobody says otherwise.
    pub const OUTPUT: u64 = 512 << 10;

    /// The memory that is allowed.
    pub fn effective_memory(&self) -> u64 {
        self.memory.unwrap_or(Self::MEMORY)
    }

    /// The processes and threads that are allowed.
    pub fn effective_pids(&self) -> u64 {
        self.pids.unwrap_or(Self::PIDS)
    }

    /// The bytes of files that are allowed: not more than half of the memory, unless somebody says so, because files
    /// live in memory and a full disk should be an error of the program that fills it, not the end of all.
    pub fn effective_disk(&self) -> u64 {
        self.disk.unwrap_or_else(|| Self::DISK.min(self.effective_memory() / 2))
    }
}

impl Default for Limits {
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

/// Who the commands are inside. Outside they are an unprivileged user whatever is said here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl Default for User {
    fn default() -> Self {
        Self { uid: 1000, gid: 1000 }
    }
}

/// A command to be run in a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecRequest {
    /// The program and its arguments; the program is looked up in the `PATH` of the sandbox.
    pub command: Vec<String>,
    /// Variables for this command alone.
    pub environment: BTreeMap<String, String>,
    /// Where it starts; without it `/workspace`.
    pub directory: Option<PathBuf>,
    /// What it can read from stdin.
    pub stdin: Vec<u8>,
    /// How long it may run before it is killed with everything it started.
    pub timeout: Option<Duration>,
    /// No other command runs in the sandbox at the same time. It is a little faster to start, and when its time is over
    /// everything in the sandbox is killed.
    pub exclusive: bool,
    /// It gets a terminal of this size in place of its standard streams. What it prints and complains is one stream then.
    pub terminal: Option<TerminalSize>,
}

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Characters in a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { columns: 80, rows: 24 }
    }
}

/// Limits that are to hold from now on; what is not named stays.
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
    /// A command with nothing else said.
    pub fn new<T: Into<String>>(command: impl IntoIterator<Item = T>) -> Self {
        Self { command: command.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The same, for a sandbox in which nothing else runs.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    /// The same with a limit on its time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}
