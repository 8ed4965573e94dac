//! Executes one order of the host.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use menace_guest::protocol::{Answer, Kind, Order, Report, decode, read_frame};
use menace_guest::{archive, user_files, watching};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::streams::{Host, Input, Output, beat, report};
use crate::{command, connection, inspect, listing};

/// Longest tick of the kernel's coarse clock, from which change times (ctime) are taken.
const COARSE_CLOCK_TICK: Duration = Duration::from_millis(12);

/// Reads one order, executes it, and reports a failure to the host.
pub(crate) fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The host may have disconnected.
            drop(report(&Report::Failed { problem: error.to_string() }));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let counts = inspect::IoCounts::open();
    // Commands run as the same user, and must not trace or inspect this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let order = match read_frame(&mut Host)? {
        Some((Kind::Order, body)) => decode(&body)?,
        _ => return Err(io::Error::other("the first frame is not an order")),
    };
    match order {
        Order::Run(run) => command::lead(&run, &counts),
        Order::Connect { port } => connection::serve(port),
        Order::Watch { path } => watch(&path),
        order => {
            beat();
            report(&Report::Done(execute(order)?))
        }
    }
}

/// Executes an order that has one answer.
fn execute(order: Order) -> io::Result<Answer> {
    Ok(match order {
        Order::Unpack { directory } => unpack(&directory)?,
        Order::Pack { path } => nothing(archive::pack(&path, Output)?),
        Order::PackWritten(request) => nothing(listing::pack(&request)?),
        Order::List(request) => nothing(listing::list(&request)?),
        Order::Remove { paths } => nothing(paths.iter().try_for_each(|path| archive::remove(path))?),
        Order::Files(work) => Answer::Files(user_files::done(&work)?),
        Order::Inspect => Answer::Inspected(Box::new(inspect::inspect()?)),
        Order::Run(_) | Order::Connect { .. } | Order::Watch { .. } => {
            return Err(io::Error::other("the order has no answer"));
        }
    })
}

fn nothing((): ()) -> Answer {
    Answer::Nothing
}

fn unpack(directory: &Path) -> io::Result<Answer> {
    let mut input = Input::default();
    archive::unpack(directory, &mut input).map_err(io::Error::other)?;
    // Archives are padded with zeros, which the tar library does not read; they are consumed so that the sender can finish.
    io::copy(&mut input, &mut io::sink())?;
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    std::thread::sleep(COARSE_CLOCK_TICK);
    Ok(Answer::Unpacked { at: i128::try_from(at.as_nanos()).map_err(io::Error::other)? })
}

fn watch(path: &Path) -> io::Result<()> {
    watching::watch(path, io::stdin().as_fd(), |event| {
        report(&if event.path.is_empty() { Report::Started } else { Report::Event(event.clone()) })
    })
}
