//! Isolated calls of a waiting interpreter, each in a process of its own that is forked once.
//!
//! The zygote waits in a base sandbox. For every place in which calls can run it forks one *keeper*: the first process
//! of namespaces that stay, which forks a *caller* ahead of every call. The caller makes the rest of its sandbox around
//! itself (mounts, files, limits), gives up every right, waits for its call and only then returns to the interpreter.
//! The keeper watches over it, and afterwards kills and reaps whatever is left, so that the next caller begins in an
//! empty process namespace. The caller is not the first process, because for that one the kernel ignores most signals,
//! and code that kills itself would behave differently.
//!
//! What calls in one place share is what no call can change: the names of the machine, `/proc`, and the network as long
//! as not one packet has passed through it.

mod caller;
mod children;
mod keeper;
mod messages;
mod network;

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

pub use messages::{CallStart, KeeperReport, SlotPlan};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::clone::{Forked, NAMESPACES, fork_into};
use crate::{StepError, channel, seccomp};

/// Where the stream of a call is.
const STREAM: i32 = 3;

/// The function that the interpreter of a zygote calls: `control` is the keeper's channel, which the keeper takes over,
/// `joined` are `count` files of cgroups. Returns the process number of the keeper in the zygote, 0 in a caller that is
/// inside and has its call, and a negative error number if there was no fork. The keeper never returns.
///
/// In a caller, standard streams are those of the call, and descriptor 3 is its stream.
///
/// # Safety
///
/// The process has one thread, `joined` points to `count` numbers, and all descriptors are open.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub unsafe extern "C" fn menace_slot(control: i32, joined: *const i32, count: usize) -> i32 {
    // SAFETY: the caller promises one thread.
    match unsafe { fork_into(NAMESPACES | libc::CLONE_NEWUSER, None) } {
        Ok(Forked::Parent { pid, .. }) => pid,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let error = StepError { step: "fork into new namespaces".into(), errno };
            // SAFETY: the caller promises that it is open.
            let control = unsafe { BorrowedFd::borrow_raw(control) };
            // Nobody listens any more if this fails.
            drop(channel::send(control, &KeeperReport::Failed(error), &[]));
            -errno
        }
        Ok(Forked::Child) => {
            let joined = if count == 0 {
                Vec::new()
            } else {
                // SAFETY: the caller promises that there are so many numbers of open descriptors.
                let numbers = unsafe { std::slice::from_raw_parts(joined, count) };
                // SAFETY: as above.
                numbers.iter().map(|&number| unsafe { BorrowedFd::borrow_raw(number) }).collect()
            };
            // SAFETY: the caller promises that it is open, and gives it to this process.
            let control = unsafe { OwnedFd::from_raw_fd(control) };
            // SAFETY: this process is a fork of one with one thread.
            unsafe { keeper::keep(control, &joined) };
            0
        }
    }
}

/// A copy of this process that the interpreter is not told about: its number in this process, 0 in the copy, and a
/// negative error number if there is none.
///
/// The interpreter must have one thread; the copy then has the one that there was, which holds no lock.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub extern "C" fn menace_fork() -> i32 {
    // SAFETY: a fork of a process with one thread, which the caller looked at, may do everything.
    match unsafe { libc::fork() } {
        -1 => -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
        number => number,
    }
}

/// The same, for a copy that makes one call of many: there, `stream` is descriptor 3, and nothing of it is secret. What
/// the interpreter would do for that after the fork costs it dozens of pages that are touched, and so copied.
///
/// # Safety
///
/// As for [`menace_fork`], and `stream` is open.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub unsafe extern "C" fn menace_fork_call(stream: i32) -> i32 {
    let number = menace_fork();
    if number == 0 {
        // SAFETY: these are descriptors of this process alone; nobody else in it uses them.
        let is_moved = unsafe { libc::dup2(stream, STREAM) == STREAM && libc::close(stream) == 0 };
        if !is_moved {
            // SAFETY: the copy ends without running anything of the interpreter's.
            unsafe { libc::_exit(1) };
        }
        menace_dumpable(1);
    }
    number
}

/// Whether other processes of the same user can look into this one.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub extern "C" fn menace_dumpable(is_dumpable: i32) {
    let behavior = if is_dumpable == 0 { DumpableBehavior::NotDumpable } else { DumpableBehavior::Dumpable };
    // It fails only for a wrong argument.
    let _ = set_dumpable_behavior(behavior);
}

/// Prepares what every call needs, so that the copies of the zygote inherit it.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub extern "C" fn menace_prepare() {
    seccomp::prepare();
}
