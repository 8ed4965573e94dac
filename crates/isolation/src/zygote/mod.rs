//! Isolated calls of a warm interpreter, each in its own process that is forked once.
//!
//! The zygote waits in a base sandbox. For every slot it forks one *slot supervisor*: the first process of namespaces
//! that persist, which forks a *call process* ahead of every call. The call process completes its sandbox (mounts,
//! files, limits), drops all privileges, waits for its call and only then returns to the interpreter. The slot
//! supervisor watches it, and afterwards kills and reaps all remaining processes, so that the next call process
//! begins in an empty process namespace. The call process is not the first process of the namespace, because for that
//! one the kernel ignores most signals, and code that kills itself would behave differently.
//!
//! Calls in one slot share only what no call can change: the host name, `/proc`, and the network namespace as long as
//! no packet has passed through it.

mod call_process;
mod children;
mod messages;
mod network;
mod slot_supervisor;

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

pub use messages::{CallStart, SlotPlan, SlotSupervisorReport};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::clone::{ForkResult, NAMESPACES, fork_into};
use crate::{StepError, StepKind, channel, seccomp};

/// Descriptor of the stream of a call.
const STREAM: i32 = 3;

/// The function that the interpreter of a zygote calls: `control` is the channel of the slot supervisor, which takes
/// it over, `joined` are `count` files of cgroups. Returns the process id of the slot supervisor in the zygote, 0 in
/// a call process that has its call, and a negative error number if the fork failed. The slot supervisor never
/// returns.
///
/// In a call process, the standard streams are those of the call, and descriptor 3 is its stream.
///
/// # Safety
///
/// The process has one thread, `joined` points to `count` numbers, and all descriptors are open.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub unsafe extern "C" fn menace_slot(control: i32, joined: *const i32, count: usize) -> i32 {
    // SAFETY: the caller promises one thread.
    match unsafe { fork_into(NAMESPACES | libc::CLONE_NEWUSER, None) } {
        Ok(ForkResult::Parent { pid, .. }) => pid,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let error =
                StepError { step: "fork into new namespaces".into(), kind: StepKind::Namespace, errno };
            // SAFETY: the caller promises that it is open.
            let control = unsafe { BorrowedFd::borrow_raw(control) };
            // If it fails, the other end of the channel is closed.
            drop(channel::send(control, &SlotSupervisorReport::Failed(error), &[]));
            -errno
        }
        Ok(ForkResult::Child) => {
            let joined = if count == 0 {
                Vec::new()
            } else {
                // SAFETY: the caller promises that there are `count` numbers of open descriptors.
                let numbers = unsafe { std::slice::from_raw_parts(joined, count) };
                // SAFETY: as above.
                numbers.iter().map(|&number| unsafe { BorrowedFd::borrow_raw(number) }).collect()
            };
            // SAFETY: the caller promises that it is open, and gives it to this process.
            let control = unsafe { OwnedFd::from_raw_fd(control) };
            // SAFETY: this process is a fork of one with one thread.
            unsafe { slot_supervisor::run_slot_supervisor(control, &joined) };
            0
        }
    }
}

/// Forks this process without telling the interpreter. Returns the process id in this process, 0 in the copy, and a
/// negative error number on failure.
///
/// The interpreter must have one thread; the copy then has that thread, which holds no lock.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub extern "C" fn menace_fork() -> i32 {
    // SAFETY: the caller has checked that the process has one thread, so the copy may call any function.
    match unsafe { libc::fork() } {
        -1 => -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
        number => number,
    }
}

/// As [`menace_fork`], for a copy that makes one call of a batch: in it, `stream` is descriptor 3, and the process is
/// dumpable. Doing this in the interpreter after the fork would touch, and so copy, dozens of pages.
///
/// # Safety
///
/// As for [`menace_fork`], and `stream` is open.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub unsafe extern "C" fn menace_fork_call(stream: i32) -> i32 {
    let number = menace_fork();
    if number == 0 {
        // SAFETY: these descriptors belong to this process alone, and no other code in it uses them.
        let is_moved = unsafe { libc::dup2(stream, STREAM) == STREAM && libc::close(stream) == 0 };
        if !is_moved {
            // SAFETY: the copy ends without running code of the interpreter.
            unsafe { libc::_exit(1) };
        }
        menace_dumpable(1);
    }
    number
}

/// Sets whether other processes of the same user can inspect this one.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub extern "C" fn menace_dumpable(is_dumpable: i32) {
    let behavior = if is_dumpable == 0 { DumpableBehavior::NotDumpable } else { DumpableBehavior::Dumpable };
    // It fails only for an invalid argument.
    let _ = set_dumpable_behavior(behavior);
}

/// Prepares what every call needs, so that the forks of the zygote inherit it.
#[cfg_attr(feature = "library", unsafe(no_mangle))]
pub extern "C" fn menace_prepare() {
    seccomp::prepare();
}
