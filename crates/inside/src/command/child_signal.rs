//! The end of children as something that can be waited for together with streams.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// Readable when a child has ended.
pub(super) struct ChildSignal(OwnedFd);

impl ChildSignal {
    /// From now on the end of a child waits here. Programs start with no signal blocked all the same: the standard library
    /// sees to that.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: all zero is a valid set, which sigemptyset empties before anybody reads it; it lives during all calls, and the
        // descriptor that signalfd returns belongs to nobody else.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            let descriptor = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor == -1 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedFd::from_raw_fd(descriptor)))
        }
    }

    /// Forgets what was signalled, before one looks who has ended.
    pub(super) fn clear(&self) {
        let mut ignored = [0; 1024];
        while rustix::io::read(&self.0, &mut ignored).is_ok_and(|length| length > 0) {}
    }
}

impl AsFd for ChildSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
