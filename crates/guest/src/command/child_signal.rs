//! SIGCHLD as a file descriptor, to be polled together with streams.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// Descriptor that is readable when a child has ended.
pub(super) struct ChildSignal(OwnedFd);

impl ChildSignal {
    /// Blocks SIGCHLD and opens the signalfd. Programs still start with no signal blocked: the standard library resets the
    /// mask of its children.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: all zero is a valid set, which sigemptyset initialises before it is read; it lives during all calls, and
        // the descriptor that signalfd returns has no other owner.
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

    /// Discards pending notifications; call it before reaping children.
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
