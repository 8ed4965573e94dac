//! The process between the host and a program: it passes on what both say, and knows everything that the program starts.
//!
//! Sessions, process groups and parents can all be left behind by a program. A subreaper cannot: whatever loses its
//! parent becomes a child of this process. So several commands can share a sandbox, and each can be killed with all that
//! it started while the others go on. A program can kill or stop this process, which belongs to the same user; then the
//! host does not hear of it in time, and has the first process end everything.

mod buffers;
mod child_signal;
mod relay;
mod start;
mod usage;

use std::io;

use menace_inside::protocol::{Report, Run, Step};
use rustix::process::{Pid, set_child_subreaper};

use crate::inspect::IoCounts;
use crate::streams::report;

use relay::Relay;
use start::Program;

/// Starts a command, and stays until it has ended and the host knows how.
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
