//! The leader of a command: the process between the host and a program. It relays bytes in both directions and owns every
//! process that the program starts.
//!
//! A program can leave its session, its process group and its parent, but not its subreaper: an orphaned descendant is
//! reparented to this process. So several commands can share a sandbox, and each can be killed with all its descendants
//! while the others continue. A program can kill or stop this process, which runs as the same user; then its reports stop,
//! and the host has the init process kill everything in the sandbox.

mod buffers;
mod child_signal;
mod program;
mod relay;
mod usage;

use std::io;

use menace_guest::protocol::{GuestCommand, GuestReport, GuestStartStep};
use rustix::process::{Pid, set_child_subreaper};

use crate::inspect::IoCounts;
use crate::streams::report;

use program::StartedProgram;
use relay::CommandRelay;

/// Starts a command, and returns when it has ended and its result was sent to the host.
pub(crate) fn run_command(run: &GuestCommand, counts: &IoCounts) -> io::Result<()> {
    set_child_subreaper(Pid::from_raw(1))?;
    let signals = child_signal::ChildSignal::new()?;
    if let Err(error) = std::env::set_current_dir(&run.directory) {
        return not_started(&error, GuestStartStep::Directory);
    }
    let before = usage::UsageBaseline::read_counters(counts);
    report(&GuestReport::Starting { oom_kills: before.oom_kills })?;
    let program = match StartedProgram::start(run) {
        Ok(program) => program,
        Err((error, step)) => return not_started(&error, step),
    };
    report(&GuestReport::Started)?;
    CommandRelay::new(run, program, signals, before)?.serve(counts)
}

fn not_started(error: &io::Error, step: GuestStartStep) -> io::Result<()> {
    report(&GuestReport::NotStarted { errno: error.raw_os_error().unwrap_or(libc::EINVAL), step })
}
