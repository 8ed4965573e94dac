//! The arguments of `menace sandbox`.

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
    /// Run an agent in a sandbox with this directory, and take out what it changed
    #[command(after_help = RUN_EXIT_CODES)]
    Attach(Box<SandboxAttachArguments>),
    /// Make a sandbox that stays, and print its id
    Create(SandboxCreateArguments),
    /// List sandboxes that stay
    #[command(alias = "ls")]
    List(JsonOutput),
    /// Run a command in a sandbox that stays
    Exec(SandboxExecArguments),
    /// Copy a file or directory in or out: one side is SANDBOX:PATH
    Cp {
        /// From
        from: String,
        /// To
        to: String,
    },
    /// Make a stopped sandbox ready for commands
    Start(SandboxIdArguments),
    /// End all processes of a sandbox; its files stay
    Stop(SandboxIdArguments),
    /// Let all processes of a sandbox stand still
    Pause(SandboxIdArguments),
    /// Let them go on
    Resume(SandboxIdArguments),
    /// Keep a copy of its files, and print the id of that
    Snapshot {
        #[command(flatten)]
        which: SandboxIdArguments,
        /// What to call it
        #[arg(long, default_value = "")]
        name: String,
    },
    /// Make a sandbox with the same files, and print its id
    Fork(SandboxIdArguments),
    /// Destroy sandboxes
    Rm {
        /// Which; the beginning of an id is enough
        #[arg(required = true)]
        sandboxes: Vec<String>,
    },
    /// What a sandbox takes
    Stats(SandboxIdArguments),
}

const RUN_EXIT_CODES: &str = "Exit codes: that of the command; 124 when its time is over, 137 when its memory is, \
128 + N after signal N, 127 when the program is not there and 126 when it cannot be executed. \
Before anything has run: 2 wrong usage, 3 this host cannot do it (menace doctor says what it lacks).";

#[derive(Debug, Args)]
pub(crate) struct SandboxRunArguments {
    /// The most memory, such as 256m, files included; 1g without this
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    /// The most CPU cores at a time, such as 0.5; all without this
    #[arg(long, value_name = "CORES", value_parser = cores)]
    pub(crate) cpus: Option<f64>,
    /// The most CPU time of all processes together, such as 10s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) cpu_time: Option<Duration>,
    /// The most processes and threads; 512 without this
    #[arg(long, value_name = "COUNT")]
    pub(crate) pids: Option<u64>,
    /// The most bytes of files, such as 100m; half of the memory and at most 256m without this
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) disk: Option<u64>,
    /// The most open files of each process; 1024 without this
    #[arg(long, value_name = "COUNT")]
    pub(crate) open_files: Option<u64>,
    /// How much of stdout and of stderr --json keeps; 512k without this
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) output: Option<u64>,
    /// How long it may run, such as 2s or 500ms; for ever without this
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// A directory that is /workspace inside; what is written there stays in the sandbox
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<PathBuf>,
    /// Let the command write to the directory of --workdir itself
    #[arg(long, requires = "workdir")]
    pub(crate) rw: bool,
    /// A further directory or file: SRC:DST, or SRC:DST:ro to forbid writing; can be repeated
    #[arg(long, value_name = "SRC:DST[:ro]", value_parser = mount)]
    pub(crate) mount: Vec<HostMount>,
    /// A variable for the command: K=V, or K to pass on the caller's; can be repeated
    #[arg(long, value_name = "K=V", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    #[command(flatten, next_help_heading = "Network")]
    pub(crate) network: NetworkArguments,
    /// System calls that go wrong: CALL=ERROR, CALL=TIME or write=corrupt, with ,rate=PERCENT ,path=PATTERN ,fd=NUMBER;
    /// can be repeated (open, read, write, fsync, rename, unlink, mkdir, truncate, stat, connect, sendto, recvfrom)
    #[arg(long, value_name = "CALL=FAULT")]
    pub(crate) fault: Vec<FaultRule>,
    /// Who the command is inside: UID or UID:GID
    #[arg(long, value_name = "UID[:GID]", value_parser = user)]
    pub(crate) user: Option<SandboxUser>,
    /// Print one JSON object when it is over: how it ended, what it took, printed and wrote
    #[arg(long)]
    pub(crate) json: bool,
    /// The command
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxAttachArguments {
    /// Write what changed in /workspace to this file, as a patch for git apply or patch -p1
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// Change the directory as the agent changed /workspace
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
