//! `clone3`: creates a child directly in new namespaces and, on cgroup v2, in its cgroup.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The process that returned from [`fork_into`].
#[derive(Debug)]
pub enum ForkResult {
    /// The new process.
    Child,
    /// The calling process.
    Parent {
        /// Process id of the child in the caller's process namespace.
        pid: i32,
        /// Handle of the child, which no other process can inherit.
        pidfd: OwnedFd,
    },
}

/// Namespaces that a sandbox gets before its mounts are made. The user namespace comes last (see
/// [`crate::user_namespace`]) and the cgroup namespace after joining the cgroup, because its root is the cgroup of
/// the process at that moment.
pub const NAMESPACES: libc::c_int =
    libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// The libc crate defines it in a type that is too narrow.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Forks into new namespaces.
///
/// # Safety
///
/// The calling process has one thread. The child gets a copy of that thread alone, so a lock held by another thread
/// would stay locked for ever.
#[expect(clippy::cast_sign_loss, reason = "flags are bits, and descriptors and signals are not negative")]
pub unsafe fn fork_into(namespaces: libc::c_int, cgroup: Option<BorrowedFd>) -> io::Result<ForkResult> {
    let mut pidfd: RawFd = -1;
    // SAFETY: all zero is a valid `clone_args` that requests nothing.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = namespaces as u64 | libc::CLONE_PIDFD as u64;
    arguments.pidfd = &raw mut pidfd as u64;
    arguments.exit_signal = libc::SIGCHLD as u64;
    if let Some(cgroup) = cgroup {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = cgroup.as_raw_fd() as u64;
    }
    // SAFETY: the structure is as long as we say and lives during the call. No memory is shared (no CLONE_VM), so the
    // child returns here on its own copy of the stack, as after fork(2).
    let result =
        unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>()) };
    match result {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(ForkResult::Child),
        pid => Ok(ForkResult::Parent {
            #[expect(clippy::cast_possible_truncation, reason = "the kernel's process numbers have 32 bits")]
            pid: pid as i32,
            // SAFETY: with CLONE_PIDFD the kernel has stored a new descriptor there that has no other owner.
            pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) },
        }),
    }
}
