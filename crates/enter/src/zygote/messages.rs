//! What is said between menace, a keeper and its callers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::StepError;
use crate::tun::Interface;

/// What the keeper is told at first, on its channel: what holds for all calls in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlotPlan {
    /// Bytes of files.
    pub disk: u64,
    /// Who the caller is; the same as in the base sandbox.
    pub user: (u32, u32),
    /// Processes and threads.
    pub processes: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// CPU time of each process.
    pub cpu_seconds: Option<u64>,
    /// Memory of each process, where no cgroup limits that of all.
    pub data_bytes: Option<u64>,
    /// The interface that calls have beside their loopback. With the plan comes the device, found with
    /// [`crate::tun::find`], if the keeper is to make it.
    pub interface: Option<Interface>,
    /// Numbers of system calls that menace is asked about.
    pub asked: Vec<u32>,
}

/// A call, on the same channel, with three descriptors: the stream for what is called and its result, stdout, stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStart {
    /// How long it may take.
    pub timeout: Duration,
}

/// What the keeper says, in the other direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperReport {
    /// A caller is inside and waits for its call. With it come the other end of its interface, if it has one (or its
    /// network, if menace is to make it), and the descriptor for whoever is asked about its system calls, if somebody is.
    Ready,
    /// A step on the way in failed, nothing was run, and the keeper has ended.
    Failed(StepError),
    /// The caller ended, and everything that it started.
    Ended {
        /// What it returned; nothing after a signal.
        exit_code: Option<i32>,
        /// What ended it.
        signal: Option<i32>,
        /// The keeper killed it because its time was over.
        timed_out: bool,
        /// CPU time of everything that ran, in microseconds, without the way in.
        cpu_user_us: u64,
        /// The same in the kernel.
        cpu_system_us: u64,
        /// The largest process, in bytes.
        largest_process_bytes: u64,
        /// The disk was full at the end.
        disk_full: bool,
    },
}

/// What a caller says to its keeper before it runs any code that is not ours, with the descriptor of what it can write,
/// and the one for whoever is asked about its system calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CallerReport {
    /// It is inside.
    Inside {
        /// CPU time that the way in took, in microseconds.
        cpu_user_us: u64,
        /// The same in the kernel.
        cpu_system_us: u64,
    },
    /// It could not get in.
    Failed(StepError),
}
