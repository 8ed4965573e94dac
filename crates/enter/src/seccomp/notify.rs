//! The supervisor's side of refused system calls: answers them, and remembers how many there were of each.

use std::{
    collections::BTreeMap,
    io, mem,
    os::fd::{AsRawFd, BorrowedFd},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{decision::Answer, table};

/// How many calls one round answers at most, so that a program that makes refused calls without end from many
/// threads cannot keep its supervisor from everything else.
const CALLS_IN_A_ROUND: usize = 1024;

/// Refused calls since the last [`Denials::take`].
///
/// It holds one count for each call of the table at most, whatever the sandboxed program does.
#[derive(Debug, Default)]
pub struct Denials {
    counts: BTreeMap<u32, u64>,
}

impl Denials {
    /// Answers what waits at the listener and comes back without waiting for more.
    ///
    /// Call it whenever the listener is readable. Of very many waiting calls it answers a part and the listener
    /// stays readable. When every process under the filter is gone the listener hangs up, which is no error.
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

    /// The names of refused calls with how often they were made; the counts start again from nothing.
    pub fn take(&mut self) -> Vec<(String, u64)> {
        mem::take(&mut self.counts).into_iter().map(|(number, count)| (name(number), count)).collect()
    }

    /// Counts a refused call that somebody else answers.
    pub fn count(&mut self, call: &libc::seccomp_data) {
        *self.counts.entry(call.nr.cast_unsigned()).or_default() += 1;
    }
}

fn name(number: u32) -> String {
    table::row(number).map_or_else(|| format!("system call {number}"), |row| row.name().to_owned())
}

/// The answer that the table has for the call.
///
/// The process cannot change a call that waits: the kernel copied number and arguments, and the rules follow no
/// pointers.
pub fn refusal(call: &libc::seccomp_notif) -> libc::seccomp_notif_resp {
    let error = match table::answer(call.data.nr.cast_unsigned(), &call.data.args) {
        Answer::Refuse(error) => error,
        // Our filter reports refused calls only. Were there another one, its calls would not pass here either.
        Answer::Allow | Answer::Ask | Answer::Absent => libc::EPERM,
    };
    libc::seccomp_notif_resp { id: call.id, val: 0, error: -error, flags: 0 }
}

fn is_readable(listener: BorrowedFd<'_>) -> io::Result<bool> {
    let mut descriptors = [PollFd::new(&listener, PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })))?;
    Ok(descriptors[0].revents().contains(PollFlags::IN))
}

/// The next call, or nothing when the process that made it was killed meanwhile, which is no error.
///
/// It does not block after a poll found the listener readable: the kernel counts a call when it is made and never
/// takes the count back, so that a call that vanished shows as `ENOENT`.
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
        // A call whose receipt a signal interrupts still waits, and the listener is still readable.
        Some(libc::ENOENT | libc::EINTR) => Ok(None),
        _ => Err(error),
    }
}

/// Tries again when a signal interrupts it: the call was taken from the listener, and the process would wait for
/// its answer for ever.
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
