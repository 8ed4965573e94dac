//! The leader of a command: the process between the host and a program. It relays bytes in both directions and owns every
//! process that the program starts.
//!
//! A program can leave its session, its process group and its parent, but not its subreaper: an orphaned descendant is
//! reparented to this process. So several commands can share a sandbox, and each can be killed with all its descendants
//! while the others continue. A program can kill or stop this process, which runs as the same user; then its reports stop,
//! and the host has the init process kill everything in the sandbox.

mod buffers;
mod child_signal;
mod relay;
mod start;
mod usage;

use std::io;

use menace_guest::protocol::{Report, Run, Step};
use rustix::process::{Pid, set_child_subreaper};

use crate::inspect::IoCounts;
use crate::streams::report;

use relay::Relay;
use start::Program;

/// Starts a command, and returns when it has ended and its result was sent to the host.
pub(crate) fn lead(run: &Run, counts: &IoCounts) -> io::Result<()> {
    set_child_subreaper(Pid::from_raw(1))?;
    let signals = child_signal::ChildSignal::new()?;
    if let Err(error) = std::env::set_current_dir(&run.directory) {
        return not_started(&error, Step::Directory);
    }
    let before = usage::Before::look(counts);
    report(&Report::Starting { oom_kills: before.oom_kills })?;
    let program = match Program::start(run) {
        Ok(program) => program,
        Err((error, step)) => return not_started(&error, step),
    };
    report(&Report::Started)?;
    Relay::new(run, program, signals, before)?.serve(counts)
}

fn not_started(error: &io::Error, step: Step) -> io::Result<()> {
    report(&Report::NotStarted { errno: error.raw_os_error().unwrap_or(libc::EINVAL), step })
}
