//! Messages between menace, a slot supervisor and its call processes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::StepError;
use crate::tun::TunInterface;

/// First message to a slot supervisor: the properties of all calls in its slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlotPlan {
    /// Disk limit in bytes.
    pub disk: u64,
    /// User and group of the call process; the same as in the base sandbox.
    pub user: (u32, u32),
    /// Maximum number of processes and threads.
    pub processes: u64,
    /// Maximum number of open files of each process.
    pub open_files: u64,
    /// CPU time limit of each process, in seconds.
    pub cpu_seconds: Option<u64>,
    /// Memory limit of each process in bytes, where no cgroup limits all of them.
    pub data_bytes: Option<u64>,
    /// Interface of the calls in addition to loopback. If the slot supervisor is to create it, the device, found with
    /// [`crate::tun::find`], comes with the plan.
    pub interface: Option<TunInterface>,
    /// Numbers of system calls that the fault injector decides about.
    pub asked: Vec<u32>,
}

/// A call, on the same channel, with three descriptors: the stream for the request and the result, stdout, stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStart {
    /// Timeout of the call.
    pub timeout: Duration,
}

/// Reports of a slot supervisor to menace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotSupervisorReport {
    /// A call process waits in its sandbox for its call. The descriptors are the other end of its interface, if it
    /// has one (or its network namespace, if menace is to create the interface), and the seccomp listener, if there
    /// is one.
    Ready,
    /// A step failed before any code was run, and the slot supervisor has ended.
    Failed(StepError),
    /// The call process ended, and everything that it started.
    Ended {
        /// Exit code; `None` after a signal.
        exit_code: Option<i32>,
        /// Signal that ended the process.
        signal: Option<i32>,
        /// The slot supervisor killed the process at its deadline.
        timed_out: bool,
        /// User CPU time of all processes in microseconds, without the setup of the sandbox.
        cpu_user_us: u64,
        /// System CPU time, likewise.
        cpu_system_us: u64,
        /// Peak memory of the largest process, in bytes.
        largest_process_bytes: u64,
        /// The disk was full at the end.
        disk_full: bool,
    },
}

/// Report of a call process to its slot supervisor before it runs foreign code, with the descriptors of its writable
/// part and of its seccomp listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CallProcessReport {
    /// The process has entered its sandbox.
    Inside {
        /// User CPU time of the setup, in microseconds.
        cpu_user_us: u64,
        /// System CPU time of the setup, in microseconds.
        cpu_system_us: u64,
    },
    /// A step of the setup failed.
    Failed(StepError),
}
