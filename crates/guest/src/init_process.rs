//! The init process of a container: it reaps orphans, and kills everything or resumes leaders on a signal from the host.
//!
//! It runs as the user of the commands, because a process without capabilities can signal only processes of its own user.
//! It is PID 1 of its namespace: no process in the namespace can kill or stop it.

use std::process::ExitCode;

use rustix::process::{DumpableBehavior, WaitOptions, set_dumpable_behavior, wait};

use crate::processes::{continue_leaders, kill_all_others};

/// Handles signals until the container ends.
pub(crate) fn main() -> ExitCode {
    // Commands run as the same user, and must not trace or inspect this process.
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
    // SAFETY: all zero is a valid set, which sigfillset fills before it is read; it lives during both calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        set
    }
}

/// Waits for a signal, and returns whether it is from outside: the sender's PID is 0 if the sender is not in this PID
/// namespace, which is true only for the host.
fn next_signal(signals: &libc::sigset_t) -> (i32, bool) {
    // SAFETY: the set was filled, the kernel writes the information before it is read, and both live during the call;
    // the sender is a valid field of every signal that was sent by a process.
    unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        let signal = libc::sigwaitinfo(std::ptr::from_ref(signals), &raw mut information);
        (signal, information.si_pid() == 0)
    }
}
