//! The children of a slot supervisor: reaps them and adds up their resource usage.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Resource usage of reaped children, each including the children that it had reaped itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReapedUsage {
    pub(super) cpu_user_us: u64,
    pub(super) cpu_system_us: u64,
    pub(super) largest_process_bytes: u64,
}

impl ReapedUsage {
    fn add(&mut self, usage: &libc::rusage) {
        self.cpu_user_us += microseconds(usage.ru_utime);
        self.cpu_system_us += microseconds(usage.ru_stime);
        self.largest_process_bytes =
            self.largest_process_bytes.max(usage.ru_maxrss.cast_unsigned().saturating_mul(1024));
    }
}

/// CPU time of this process so far: user time and system time in microseconds.
pub(super) fn own_cpu_time() -> (u64, u64) {
    let mut usage = zero_usage();
    // SAFETY: the structure lives during the call. It can fail only for a wrong argument.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    (microseconds(usage.ru_utime), microseconds(usage.ru_stime))
}

/// Reaps one child that has ended, if there is one, and returns its process id and wait status.
pub(super) fn reap(taken: &mut ReapedUsage) -> Option<(i32, i32)> {
    wait(libc::WNOHANG, taken)
}

/// Kills and reaps all other processes in the process namespace of this process, which is its first process.
pub(super) fn kill_and_reap_all(taken: &mut ReapedUsage) {
    // SAFETY: -1 is every process of this namespace but this one.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    // Killed processes become children of this process, if they were not before, and end soon.
    while wait(0, taken).is_some() {}
}

fn wait(options: i32, taken: &mut ReapedUsage) -> Option<(i32, i32)> {
    let (mut status, mut usage) = (0, zero_usage());
    // SAFETY: status and usage live during the call.
    let pid = unsafe { libc::wait4(-1, &raw mut status, options, &raw mut usage) };
    if pid <= 0 {
        return None;
    }
    taken.add(&usage);
    Some((pid, status))
}

fn zero_usage() -> libc::rusage {
    // SAFETY: all zero is a valid `rusage`.
    unsafe { std::mem::zeroed() }
}

fn microseconds(time: libc::timeval) -> u64 {
    (time.tv_sec * 1_000_000 + time.tv_usec).cast_unsigned()
}

/// Creates a descriptor that becomes readable when a child ends, while SIGCHLD is blocked.
pub(super) fn child_end_descriptor() -> io::Result<OwnedFd> {
    let set = child_signal();
    // SAFETY: the set lives during the call, and the descriptor that is returned is new.
    unsafe {
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor)),
        }
    }
}

/// Blocks SIGCHLD with the default action. The zygote ignores it, so that its slot supervisors are reaped
/// automatically; a slot supervisor waits for it.
pub(super) fn block_signal() {
    let set = child_signal();
    // SAFETY: no handler is installed, and the set lives during the call.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Unblocks SIGCHLD for the call process.
pub(super) fn unblock_signal() {
    let set = child_signal();
    // SAFETY: as above.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
}

fn child_signal() -> libc::sigset_t {
    // SAFETY: sigemptyset initialises the set.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        set
    }
}
