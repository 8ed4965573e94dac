//! The supervisor's side of denied system calls: answers them and counts them by name.

use std::{
    collections::BTreeMap,
    io, mem,
    os::fd::{AsRawFd, BorrowedFd},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{decision::SeccompAnswer, table};

/// Maximum number of calls that one round answers, so that a program that makes denied calls endlessly from many
/// threads cannot block the rest of its supervisor.
const CALLS_IN_A_ROUND: usize = 1024;

/// Denied calls since the last [`Self::take`].
///
/// It holds at most one count for each call of the table, independently of the sandboxed program.
#[derive(Debug, Default)]
pub struct DeniedSyscallCounts {
    counts: BTreeMap<u32, u64>,
}

impl DeniedSyscallCounts {
    /// Answers the calls that wait at the listener and returns without waiting for more.
    ///
    /// Call it whenever the listener is readable. Of very many waiting calls it answers a part, and the listener
    /// stays readable. When every process under the filter has ended the listener hangs up, which is no error.
    pub fn serve(&mut self, listener: BorrowedFd<'_>) -> io::Result<()> {
        for _ in 0..CALLS_IN_A_ROUND {
            if !is_readable(listener)? {
                return Ok(());
            }
            let Some(call) = receive(listener)? else { continue };
            self.count(&call.data);
            send(listener, &refusal(&call))?;
        }
        Ok(())
    }

    /// Returns the names of denied calls with their counts, and resets the counts.
    pub fn take(&mut self) -> Vec<(String, u64)> {
        mem::take(&mut self.counts).into_iter().map(|(number, count)| (name(number), count)).collect()
    }

    /// Counts a denied call that other code answers.
    pub fn count(&mut self, call: &libc::seccomp_data) {
        *self.counts.entry(call.nr.cast_unsigned()).or_default() += 1;
    }
}

fn name(number: u32) -> String {
    table::row(number).map_or_else(|| format!("system call {number}"), |row| row.name().to_owned())
}

/// The answer of the table to the call.
///
/// The process cannot change a waiting call: the kernel copied number and arguments, and the rules follow no
/// pointers.
pub fn refusal(call: &libc::seccomp_notif) -> libc::seccomp_notif_resp {
    let error = match table::answer(call.data.nr.cast_unsigned(), &call.data.args) {
        SeccompAnswer::Refuse(error) => error,
        // The filter reports only denied calls. If another filter existed, its calls would not pass here either.
        SeccompAnswer::Allow | SeccompAnswer::Ask | SeccompAnswer::Absent => libc::EPERM,
    };
    libc::seccomp_notif_resp { id: call.id, val: 0, error: -error, flags: 0 }
}

fn is_readable(listener: BorrowedFd<'_>) -> io::Result<bool> {
    let mut descriptors = [PollFd::new(&listener, PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })))?;
    Ok(descriptors[0].revents().contains(PollFlags::IN))
}

/// Receives the next call; `None` when the process that made it was killed meanwhile, which is no error.
///
/// It does not block after a poll found the listener readable: the kernel counts a call when it is made and never
/// decreases the count, so that a call that vanished shows as `ENOENT`.
pub fn receive(listener: BorrowedFd<'_>) -> io::Result<Option<libc::seccomp_notif>> {
    // SAFETY: the structure is made of integers, for which zero is a value; the kernel demands zeros here.
    let mut call: libc::seccomp_notif = unsafe { mem::zeroed() };
    // SAFETY: the request number says that the kernel writes one `seccomp_notif`, and `call` is one.
    let answer = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) };
    if answer >= 0 {
        return Ok(Some(call));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // A call whose receipt is interrupted by a signal still waits, and the listener is still readable.
        Some(libc::ENOENT | libc::EINTR) => Ok(None),
        _ => Err(error),
    }
}

/// Sends the answer. Retries when a signal interrupts it: the call was removed from the listener, and the process
/// would wait for its answer for ever.
pub fn send(listener: BorrowedFd<'_>, response: &libc::seccomp_notif_resp) -> io::Result<()> {
    let response: *const libc::seccomp_notif_resp = response;
    loop {
        // SAFETY: the request number says that the kernel reads one `seccomp_notif_resp`; it points to one.
        let answer = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, response) };
        if answer >= 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EINTR) => {}
            error if error.raw_os_error() == Some(libc::ENOENT) => return Ok(()),
            error => return Err(error),
        }
    }
}
