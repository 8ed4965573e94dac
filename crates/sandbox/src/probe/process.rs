//! Process functions of probe children, which have a single thread.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, set_parent_process_death_signal, waitpid};

use super::failure::{ProbeFailure, syscall_failed};

/// Result of a fork: the parent's or the child's side.
pub(super) enum ForkSide {
    Parent(Pid),
    Child,
}

/// Forks this process. Only for probe children: they have one thread, so the copy may call any function.
pub(super) fn fork() -> Result<ForkSide, ProbeFailure> {
    // SAFETY: a copy of a threaded process may only call async-signal-safe functions. The process that gets here was
    // executed as `menace __probe`, whose `main` does nothing before `child_main`, and no probe starts a thread.
    let forked = unsafe { libc::fork() };
    match forked {
        0 => {
            die_with_parent();
            Ok(ForkSide::Child)
        }
        -1 => Err(syscall_failed("fork")(last_errno())),
        pid => Ok(ForkSide::Parent(Pid::from_raw(pid).expect("fork returns a positive pid to the parent"))),
    }
}

/// Continues in a forked child, the first process of a new pid namespace. The parent waits for the child and exits; the
/// child prints the probe's result.
pub(super) fn continue_in_child() -> Result<(), ProbeFailure> {
    match fork()? {
        ForkSide::Child => Ok(()),
        ForkSide::Parent(child) => {
            let code = wait(child)?.exit_status().unwrap_or(1);
            std::process::exit(code)
        }
    }
}

/// Waits for a child to exit.
pub(super) fn wait(child: Pid) -> Result<WaitStatus, ProbeFailure> {
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(status),
            Ok(None) | Err(Errno::INTR) => {}
            Err(errno) => return Err(syscall_failed("wait for a child")(errno)),
        }
    }
}

/// Makes the kernel kill this process when its parent exits, so that no probe outlives the command that started it.
pub(super) fn die_with_parent() {
    // If this fails, the process still ends when its work is done or its parent's timeout expires.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// The error of the last raw system call.
pub(super) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
