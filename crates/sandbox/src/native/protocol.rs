//! Messages between the caller, the launcher and the init process of each sandbox.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use menace_guest::ReportedFailure;
use menace_isolation::StepError;
use menace_isolation::root::{ScratchOptions, SkeletonEntry};
use menace_isolation::tun::TunInterface;
use menace_model::sandbox::{DeniedSyscall, FileOperation, HostMount, SandboxUser, TerminalSize};
use serde::{Deserialize, Serialize};

/// Message to the launcher, sent once.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LauncherPreparation {
    /// Host entries that every sandbox sees.
    pub(crate) skeleton: Vec<SkeletonEntry>,
    /// Whether the launcher runs as real root; otherwise it enters a user namespace.
    pub(crate) privileged: bool,
}

/// Message to the launcher, sent for each sandbox. Its descriptors are the sandbox's end of its channel, the cgroup to
/// be born in (if `born_in_cgroup`) and those to be joined.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SandboxOrder {
    pub(crate) scratch: ScratchOptions,
    pub(crate) mounts: Vec<HostMount>,
    /// Skeleton for this sandbox alone, if its mounts need mount points that the common one lacks.
    pub(crate) own_skeleton: Option<Vec<SkeletonEntry>>,
    pub(crate) user: SandboxUser,
    pub(crate) processes: Option<u64>,
    pub(crate) open_files: u64,
    /// Limit on the data of each process, where no cgroup limits the memory of all.
    pub(crate) data_bytes: Option<u64>,
    pub(crate) born_in_cgroup: bool,
    /// The cgroups to join come as the first message on the sandbox's channel: they are created in parallel with the
    /// namespaces.
    pub(crate) joins_later: bool,
    /// Purpose of the sandbox.
    pub(crate) kind: SandboxPurpose,
    /// Network interface of the sandbox beside its loopback.
    pub(crate) interface: Option<TunInterface>,
    /// Numbers of the system calls that the fault injector decides.
    pub(crate) asked: Vec<u32>,
    /// Certificate of an authority that programs inside must trust.
    pub(crate) trusted: Option<String>,
}

/// Message whose descriptors are the cgroups to join.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JoinCgroupsMessage;

/// Purpose of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SandboxPurpose {
    /// Untrusted code: every privilege is dropped before the first command.
    Final,
    /// Base sandbox of a zygote: the children of its interpreter still have to create namespaces of their own and drop
    /// the remaining privileges themselves.
    Base,
}

/// Message to the init process of a sandbox. The descriptors of `Run` are stdin, stdout and stderr; that of `InitFileWork` is
/// the archive.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum InitRequest {
    Run {
        job: u64,
        program: ProgramSpec,
        /// The sandbox exists for this program alone and ends with it.
        once: bool,
    },
    Work {
        job: u64,
        work: InitFileWork,
    },
    /// Sends a signal to the program of a job.
    Signal {
        job: u64,
        signal: i32,
    },
    /// Kills a job with all processes that it started.
    Kill {
        job: u64,
    },
    /// Stops or continues every process except init.
    SignalAll {
        job: u64,
        signal: i32,
    },
    Inspect {
        job: u64,
    },
    /// Opens a connection to a port of the loopback interface and sends back its descriptor.
    Connect {
        job: u64,
        port: u16,
    },
}

/// Program to start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProgramSpec {
    pub(crate) command: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) directory: PathBuf,
    /// CPU time limit of each process, where no cgroup counts that of all.
    pub(crate) cpu_seconds: Option<u64>,
    /// No other program will run in this sandbox, so killing the sandbox kills the job.
    pub(crate) alone: bool,
    /// Terminal of this size; the request then carries no streams.
    pub(crate) terminal: Option<TerminalSize>,
}

/// Work on the files of the sandbox, done by a child of the init process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum InitFileWork {
    /// Unpack an archive.
    Unpack { directory: PathBuf },
    /// Pack a file or directory.
    Pack { path: PathBuf },
    /// Pack the written layer.
    PackLayer,
    /// List the written layer; the result is sent through the archive descriptor, because it can be long.
    ListLayer,
    /// Remove files and directories.
    Remove { paths: Vec<OsString> },
    /// File operation of a user; the result is sent through the archive descriptor.
    Files(FileOperation),
    /// Watch files; events are sent through the archive descriptor until its reader closes it.
    Watch { path: PathBuf },
}

/// Message from the launcher or from the init process, on the channel of the sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum InitReport {
    /// From the launcher; its descriptor is the pidfd of the init process.
    Born,
    /// The sandbox is ready. Its descriptors are the host's end of the interface, if there is one, and the seccomp
    /// listener for the fault injector, if there is one.
    Ready { left_out: Vec<String> },
    /// A step failed, and the init process exits.
    Failed(StepError),
    /// A program, or a child for file work, was started.
    Started { job: u64 },
    /// A program could not be started.
    NotStarted { job: u64, errno: i32, step: ProgramStartStep },
    /// A program or file work ended.
    Ended { job: u64, end: JobEnd },
    /// Answer to `Inspect`.
    Inspected { job: u64, inspection: InitInspection },
    /// Answer to `SignalAll`.
    Signalled { job: u64 },
    /// A program has a terminal; the descriptor is the caller's end of it.
    Terminal { job: u64 },
    /// Answer to `Connect`; the descriptor is a socket that is connected or connecting.
    Connecting { job: u64 },
}

/// Steps of starting a program or of opening a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProgramStartStep {
    /// Converting its arguments, which must not contain a zero byte.
    Arguments,
    /// Creating its process.
    Process,
    /// Starting a session.
    Session,
    /// Connecting the standard streams.
    Streams,
    /// Taking the terminal.
    Terminal,
    /// Closing inherited files.
    InheritedFiles,
    /// Entering the working directory.
    Directory,
    /// Limiting its CPU time.
    CpuLimit,
    /// Executing it.
    Execute,
    /// Connecting to a port.
    Connect,
}

/// End of a program or of file work.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct JobEnd {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) cpu_user_us: u64,
    pub(crate) cpu_system_us: u64,
    pub(crate) largest_process_bytes: u64,
    /// CPU time of the init process meanwhile, which the cgroup counts as well.
    pub(crate) own_cpu_us: u64,
    /// Wall time from start to end.
    pub(crate) wall_us: u64,
    pub(crate) io_read_bytes: u64,
    pub(crate) io_write_bytes: u64,
    pub(crate) disk_full: bool,
    pub(crate) denied: Vec<DeniedSyscall>,
    /// Failure of file work.
    pub(crate) failure: Option<ReportedFailure>,
}

/// State of the init process as the kernel reports it, read by that process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct InitInspection {
    /// Kind and inode of each namespace.
    pub(crate) namespaces: Vec<(String, u64)>,
    pub(crate) capabilities: u64,
    pub(crate) no_new_privs: bool,
    pub(crate) seccomp_mode: u64,
    pub(crate) landlock_abi: u32,
    pub(crate) disk_bytes: u64,
    pub(crate) io_read_bytes: u64,
    pub(crate) io_write_bytes: u64,
    pub(crate) cpu_user_us: u64,
    pub(crate) cpu_system_us: u64,
    pub(crate) largest_process_bytes: u64,
    pub(crate) processes: u64,
}
