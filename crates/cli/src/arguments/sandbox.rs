//! Arguments of `menace sandbox`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use menace_model::faults::FaultRule;
use menace_model::sandbox::{HostMount, MountAccess, SandboxUser};
use menace_model::settings::{ByteCount, Cores, SettingValue};

use super::JsonOutput;
use super::network::NetworkArguments;
use super::service::{SandboxCreateArguments, SandboxExecArguments, SandboxIdArguments};

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run one command in a fresh sandbox
    #[command(after_help = RUN_EXIT_CODES)]
    Run(Box<SandboxRunArguments>),
    /// Run an agent in a sandbox with this directory, and export its changes
    #[command(after_help = RUN_EXIT_CODES)]
    Attach(Box<SandboxAttachArguments>),
    /// Create a persistent sandbox and print its id
    Create(SandboxCreateArguments),
    /// List persistent sandboxes
    #[command(alias = "ls")]
    List(JsonOutput),
    /// Run a command in a persistent sandbox
    Exec(SandboxExecArguments),
    /// Copy a file or directory into or out of a sandbox; one side is SANDBOX:PATH
    Cp {
        /// Path to copy: PATH on this machine, or SANDBOX:PATH
        from: String,
        /// Destination: SANDBOX:PATH, or PATH on this machine
        to: String,
    },
    /// Start a stopped sandbox
    Start(SandboxIdArguments),
    /// Stop all processes of a sandbox and keep its files
    Stop(SandboxIdArguments),
    /// Pause a sandbox
    Pause(SandboxIdArguments),
    /// Resume a paused sandbox
    Resume(SandboxIdArguments),
    /// Snapshot the files of a sandbox and print the id of the snapshot
    Snapshot {
        #[command(flatten)]
        which: SandboxIdArguments,
        /// Name of the snapshot
        #[arg(long, default_value = "")]
        name: String,
    },
    /// Create a sandbox with a copy of another one's files and print its id
    Fork(SandboxIdArguments),
    /// Destroy sandboxes
    Rm {
        /// Ids of the sandboxes; unique prefixes are enough
        #[arg(required = true)]
        sandboxes: Vec<String>,
    },
    /// Show the resource usage of a sandbox
    Stats(SandboxIdArguments),
}

const RUN_EXIT_CODES: &str = "Exit codes: that of the command; 124 after a timeout, 137 when out of memory, \
128 + N after signal N, 127 when the command is not found, 126 when it cannot be executed. \
If the command was not started: 2 usage error, 3 unsupported environment (see menace doctor).";

#[derive(Debug, Args)]
pub(crate) struct SandboxRunArguments {
    /// Memory limit, files included, such as 256m [default: 1g]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    /// Maximum number of CPU cores, such as 0.5 [default: all]
    #[arg(long, value_name = "CORES", value_parser = cores)]
    pub(crate) cpus: Option<f64>,
    /// Limit on the CPU time of all processes together, such as 10s [default: unlimited]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) cpu_time: Option<Duration>,
    /// Maximum number of processes and threads [default: 512]
    #[arg(long, value_name = "COUNT")]
    pub(crate) pids: Option<u64>,
    /// Maximum size of all files, such as 100m [default: half of the memory, at most 256m]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) disk: Option<u64>,
    /// Maximum number of open files per process [default: 1024]
    #[arg(long, value_name = "COUNT")]
    pub(crate) open_files: Option<u64>,
    /// Maximum size of stdout and of stderr in the JSON output [default: 512k]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) output: Option<u64>,
    /// Time limit of the command, such as 2s or 500ms [default: unlimited]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Directory to mount at /workspace; changes stay in the sandbox unless --rw is given
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<PathBuf>,
    /// Let the command change the --workdir directory itself
    #[arg(long, requires = "workdir")]
    pub(crate) rw: bool,
    /// Directory or file to mount: SRC:DST, or SRC:DST:ro for read-only; can be repeated
    #[arg(long, value_name = "SRC:DST[:ro]", value_parser = mount)]
    pub(crate) mount: Vec<HostMount>,
    /// Environment variable of the command: K=V, or K to copy the caller's value; can be repeated
    #[arg(long, value_name = "K=V", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    #[command(flatten, next_help_heading = "Network")]
    pub(crate) network: NetworkArguments,
    /// Fault of a system call: CALL=ERROR fails it, CALL=TIME delays it, write=corrupt changes the written data;
    /// optionally followed by ,rate=PERCENT ,path=PATTERN ,fd=NUMBER; can be repeated. Calls: open, read, write, fsync,
    /// rename, unlink, mkdir, truncate, stat, connect, sendto, recvfrom
    #[arg(long, value_name = "CALL=FAULT")]
    pub(crate) fault: Vec<FaultRule>,
    /// User and group that run the command in the sandbox: UID or UID:GID
    #[arg(long, value_name = "UID[:GID]", value_parser = user)]
    pub(crate) user: Option<SandboxUser>,
    /// Print one JSON object at the end: exit status, resource usage, output and changed files
    #[arg(long)]
    pub(crate) json: bool,
    /// Command to run, with its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxAttachArguments {
    /// Write the changes in /workspace to this file, as a patch for git apply or patch -p1
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// Apply the changes in /workspace to the directory
    #[arg(long, conflicts_with = "rw")]
    pub(crate) apply: bool,
    #[command(flatten)]
    pub(crate) run: SandboxRunArguments,
}

pub(super) fn bytes(text: &str) -> Result<u64, String> {
    ByteCount::parse(text).map(|bytes| bytes.0).ok_or_else(|| format!("expected {}", ByteCount::accepted()))
}

pub(super) fn cores(text: &str) -> Result<f64, String> {
    Cores::parse(text).map(Cores::get).ok_or_else(|| format!("expected {}", Cores::accepted()))
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let accepted = || format!("expected {} above 0", <Duration as SettingValue>::accepted());
    <Duration as SettingValue>::parse(text).filter(|time| !time.is_zero()).ok_or_else(accepted)
}

fn mount(text: &str) -> Result<HostMount, String> {
    let (rest, access) = match text.strip_suffix(":ro") {
        Some(rest) => (rest, MountAccess::ReadOnly),
        None => (text.strip_suffix(":rw").unwrap_or(text), MountAccess::ReadWrite),
    };
    match rest.rsplit_once(':') {
        Some((source, target)) if !source.is_empty() && !target.is_empty() => {
            Ok(HostMount { source: source.into(), target: target.into(), access })
        }
        _ => Err("expected SRC:DST or SRC:DST:ro, such as ./data:/data:ro".into()),
    }
}

pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some(("", _)) => Err("expected a name before '='".into()),
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => match std::env::var(text) {
            Ok(value) => Ok((text.to_owned(), value)),
            Err(_) => Err(format!("{text} is not set here; expected K=V")),
        },
    }
}

fn user(text: &str) -> Result<SandboxUser, String> {
    let accepted = || "expected UID or UID:GID, such as 1000 or 1000:1000".to_owned();
    let (uid, gid) = text.split_once(':').unwrap_or((text, text));
    Ok(SandboxUser { uid: uid.parse().map_err(|_| accepted())?, gid: gid.parse().map_err(|_| accepted())? })
}
