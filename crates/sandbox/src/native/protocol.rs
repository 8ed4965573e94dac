//! What our processes say to each other: the caller, the launcher, and the first process of each sandbox.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use menace_enter::StepError;
use menace_enter::root::{Entry, ScratchOptions};
use menace_enter::tun::Interface;
use menace_model::sandbox::{Denial, FileWork, Mount, TerminalSize, User};
use serde::{Deserialize, Serialize};

/// To the launcher, once.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Preparation {
    /// What every sandbox sees of the host.
    pub(crate) skeleton: Vec<Entry>,
    /// Whether the launcher has the rights of the real root; otherwise it takes those of a user namespace.
    pub(crate) privileged: bool,
}

/// To the launcher, for each sandbox. With it come the sandbox's end of its channel, the cgroup to be born in (if
/// `born_in_cgroup`) and those to be joined.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) scratch: ScratchOptions,
    pub(crate) mounts: Vec<Mount>,
    /// The skeleton for this sandbox alone, when its mounts need places that the common one does not have.
    pub(crate) own_skeleton: Option<Vec<Entry>>,
    pub(crate) user: User,
    pub(crate) processes: Option<u64>,
    pub(crate) open_files: u64,
    /// A limit on the data of each process, where no cgroup limits the memory of all.
    pub(crate) data_bytes: Option<u64>,
    pub(crate) born_in_cgroup: bool,
    /// The cgroups to join come as the first message on the sandbox's channel: they are made while the namespaces are.
    pub(crate) joins_later: bool,
    /// What is to be found at the end of the way in.
    pub(crate) kind: Kind,
    /// The interface that the sandbox has beside its loopback.
    pub(crate) interface: Option<Interface>,
    /// Numbers of system calls that somebody outside is asked about.
    pub(crate) asked: Vec<u32>,
    /// The certificate of an authority that programs inside are to trust.
    pub(crate) trusted: Option<String>,
}

/// The message that brings the cgroups to join.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Joining;

/// What a sandbox is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Code that nobody trusts: every right is given up before the first command.
    Final,
    /// The waiting interpreter of a zygote, whose children still have to make namespaces of their own and give up
    /// the rest themselves.
    Base,
}

/// To the first process of a sandbox. With `Run` come stdin, stdout and stderr; with `Work` the archive.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Run {
        job: u64,
        program: Program,
        /// The sandbox is for this program, from its beginning to its end.
        once: bool,
    },
    Work {
        job: u64,
        work: Work,
    },
    /// Sends a signal to the program of a job.
    Signal {
        job: u64,
        signal: i32,
    },
    /// Kills a job with everything it started.
    Kill {
        job: u64,
    },
    /// Stops or continues every process but the first.
    SignalAll {
        job: u64,
        signal: i32,
    },
    Inspect {
        job: u64,
    },
    /// Opens a connection to a port of the loopback interface, and hands it over.
    Connect {
        job: u64,
        port: u16,
    },
}

/// A program to be started.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) command: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) directory: PathBuf,
    /// CPU time of each process, where no cgroup counts that of all.
    pub(crate) cpu_seconds: Option<u64>,
    /// Nothing else will ever run in this sandbox, so that killing the sandbox kills the job.
    pub(crate) alone: bool,
    /// It gets a terminal of this size; no streams come with the request then.
    pub(crate) terminal: Option<TerminalSize>,
}

/// What the first process lets a child of its own do with the files of the sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// Unpack an archive.
    Unpack { directory: PathBuf },
    /// Pack a file or directory.
    Pack { path: PathBuf },
    /// Pack what was written.
    PackLayer,
    /// List what was written, in place of an archive, because it can be long.
    ListLayer,
    /// Remove files and directories.
    Remove { paths: Vec<OsString> },
    /// Something that a user asked for; the answer is in place of an archive.
    Files(FileWork),
    /// Tell what happens to files, in place of an archive, until nobody listens.
    Watch { path: PathBuf },
}

/// From the launcher and from the first process of a sandbox, all on the channel of that sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// From the launcher; with it comes a handle on the process.
    Born,
    /// Everything is in place. With it come the other end of the interface, if there is to be one,
    /// and the descriptor for whoever is asked about system calls, if somebody outside is.
    Ready { left_out: Vec<String> },
    /// A step failed, and the process is at its end.
    Failed(StepError),
    /// A program was started, or a child for some work.
    Started { job: u64 },
    /// A program could not be started.
    NotStarted { job: u64, errno: i32, reason: String },
    /// A program or work ended.
    Ended { job: u64, end: End },
    /// The answer to `Inspect`.
    Inspected { job: u64, inspection: Inspection },
    /// The answer to `SignalAll`.
    Signalled { job: u64 },
    /// A program has a terminal; with this comes the end of it that we hold.
    Terminal { job: u64 },
    /// The answer to `Connect`; with it comes a socket that is connected or about to be.
    Connecting { job: u64 },
}

/// How a program or work ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) cpu_user_us: u64,
    pub(crate) cpu_system_us: u64,
    pub(crate) largest_process_bytes: u64,
    /// CPU time of the first process meanwhile, which is counted for the group as well.
    pub(crate) own_cpu_us: u64,
    /// From the start to the end.
    pub(crate) wall_us: u64,
    pub(crate) io_read_bytes: u64,
    pub(crate) io_write_bytes: u64,
    pub(crate) disk_full: bool,
    pub(crate) denied: Vec<Denial>,
    /// Why work failed.
    pub(crate) problem: Option<String>,
}

/// What the kernel says about the first process of a sandbox, read by that process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Inspection {
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
