//! Leader: the process between the init process and a program, which knows all processes that the program starts.
//!
//! A program can leave its session, process group and parent. It cannot leave a subreaper: a process that loses its
//! parent becomes the leader's child. So several programs can share a sandbox, and each can be killed with all
//! processes that it started while the others continue.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal, kill_process, set_child_subreaper};

use super::jobs::{JobNote, write_note};
use super::program::ExecutableProgram;
use super::serve::{block_signals, has_children, wait_for_child};
use crate::native::protocol::JobEnd;

/// Main function of a leader.
pub(super) fn lead(executable: &ExecutableProgram, stdio: &[OwnedFd], notes: &OwnedFd) -> ! {
    let code = match run(executable, stdio, notes) {
        Ok(()) => 0,
        Err(_) => 1,
    };
    // SAFETY: _exit(2) ends the process immediately; there is nothing to flush.
    unsafe { libc::_exit(code) }
}

fn run(executable: &ExecutableProgram, stdio: &[OwnedFd], notes: &OwnedFd) -> io::Result<()> {
    set_child_subreaper(Pid::from_raw(1))?;
    block_signals(&[libc::SIGCHLD, libc::SIGTERM]);
    let program = match executable.start(stdio) {
        Ok(program) => program,
        Err(failure) => return write_note(notes, &JobNote::from(&failure)),
    };
    write_note(notes, &JobNote::Started(program.as_raw_pid()))?;
    let end = watch(program);
    write_note(notes, &JobNote::Ended(end))
}

/// Waits for the end of the program; SIGTERM from the init process means to kill all processes that it started.
fn watch(program: Pid) -> JobEnd {
    loop {
        while let Some((pid, mut end)) = wait_for_child(None, libc::WNOHANG) {
            if pid == program {
                (end.cpu_user_us, end.cpu_system_us, end.largest_process_bytes) =
                    super::inspect::children_usage();
                return end;
            }
        }
        if wait_for_signal() == libc::SIGTERM {
            kill_descendants();
            // All of them were reaped, so their usage is counted.
            let (cpu_user_us, cpu_system_us, largest_process_bytes) = super::inspect::children_usage();
            let signal = Some(libc::SIGKILL);
            return JobEnd { signal, cpu_user_us, cpu_system_us, largest_process_bytes, ..JobEnd::default() };
        }
    }
}

/// Waits for one of the blocked signals.
fn wait_for_signal() -> i32 {
    // SAFETY: the set is initialised by sigemptyset before it is used, and lives during the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::sigwaitinfo(&raw const set, std::ptr::null_mut())
    }
}

/// Kills children until there are none. Their orphans become children of this process and are killed in the next round;
/// a process with a pending SIGKILL cannot fork any more, so the rounds come to an end.
fn kill_descendants() {
    let own = rustix::process::getpid();
    loop {
        for pid in descendants_of(own) {
            // The process may have ended in between.
            drop(kill_process(pid, Signal::KILL).map_err(io::Error::from));
        }
        while wait_for_child(None, libc::WNOHANG).is_some() {}
        if !has_children() {
            return;
        }
        std::thread::yield_now();
    }
}

/// All descendants of a process, as far as `/proc` shows them: a hidden process is visible to its parent alone.
pub(super) fn descendants_of(pid: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    collect_descendants(pid, &mut found);
    found
}

fn collect_descendants(pid: Pid, found: &mut Vec<Pid>) {
    for child in children_of(pid) {
        if !found.contains(&child) {
            found.push(child);
            collect_descendants(child, found);
        }
    }
}

/// Children of every thread of a process. A process that is gone has none.
pub(super) fn children_of(pid: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())) else { return Vec::new() };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(text.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)));
    }
    children
}
