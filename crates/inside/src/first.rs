//! The first process of a container: it reaps what others leave, and ends everything or wakes leaders when the host says so.
//!
//! It belongs to the user of the commands, because without any capability a process can signal only those of its own
//! user; and it is the first of its namespace, which others in there cannot signal in a way that it does not want.

use std::process::ExitCode;

use rustix::process::{DumpableBehavior, WaitOptions, set_dumpable_behavior, wait};

use crate::processes::{continue_leaders, kill_all_others};

/// Waits for signals until the container ends.
pub(crate) fn main() -> ExitCode {
    // The commands belong to the same user, and must not look into this process.
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        return ExitCode::FAILURE;
    }
    let signals = block_all_signals();
    loop {
        let (signal, is_from_outside) = next_signal(&signals);
        match signal {
            libc::SIGCHLD => while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {},
            libc::SIGUSR1 if is_from_outside => kill_all_others(),
            libc::SIGUSR2 if is_from_outside => continue_leaders(),
            libc::SIGTERM if is_from_outside => return ExitCode::SUCCESS,
            _ => {}
        }
    }
}

fn block_all_signals() -> libc::sigset_t {
    // SAFETY: all zero is a valid set, which sigfillset fills before anybody reads it; it lives during both calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        set
    }
}

/// Waits for a signal. Its sender has the number 0 if this namespace has none for it: only the host is outside.
fn next_signal(signals: &libc::sigset_t) -> (i32, bool) {
    // SAFETY: the set was filled, the information is written by the kernel before it is read, and both live during the call;
    // the sender is a valid field of every signal that a process has sent.
    unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        let signal = libc::sigwaitinfo(std::ptr::from_ref(signals), &raw mut information);
        (signal, information.si_pid() == 0)
    }
}
