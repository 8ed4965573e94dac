//! Does what one order asks for.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use menace_inside::protocol::{Answer, Kind, Order, Report, decode, read_frame};
use menace_inside::{archive, user_files, watching};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::streams::{Host, Input, Output, beat, report};
use crate::{command, connection, inspect, listing};

/// The kernel writes the time of changes down from a clock that ticks at least this often.
const TICK: Duration = Duration::from_millis(12);

/// The whole life of a process that has one order.
pub(crate) fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be there to hear it.
            drop(report(&Report::Failed { problem: error.to_string() }));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let counts = inspect::IoCounts::open();
    // Commands belong to the same user, and must not look into this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let order = match read_frame(&mut Host)? {
        Some((Kind::Order, body)) => decode(&body)?,
        _ => return Err(io::Error::other("there is no order")),
    };
    match order {
        Order::Run(run) => command::lead(&run, &counts),
        Order::Connect { port } => connection::serve(port),
        Order::Watch { path } => watch(&path),
        order => {
            beat();
            report(&Report::Done(work(order)?))
        }
    }
}

/// What takes its time and has one answer.
fn work(order: Order) -> io::Result<Answer> {
    Ok(match order {
        Order::Unpack { directory } => unpack(&directory)?,
        Order::Pack { path } => nothing(archive::pack(&path, Output)?),
        Order::PackWritten(what) => nothing(listing::pack(&what)?),
        Order::List(what) => nothing(listing::list(&what)?),
        Order::Remove { paths } => nothing(paths.iter().try_for_each(|path| archive::remove(path))?),
        Order::Files(work) => Answer::Files(user_files::done(&work)?),
        Order::Inspect => Answer::Inspected(Box::new(inspect::inspect()?)),
        Order::Run(_) | Order::Connect { .. } | Order::Watch { .. } => {
            return Err(io::Error::other("this has no answer"));
        }
    })
}

fn nothing((): ()) -> Answer {
    Answer::Nothing
}

fn unpack(directory: &Path) -> io::Result<Answer> {
    let mut input = Input::default();
    archive::unpack(directory, &mut input).map_err(io::Error::other)?;
    // Programs pad archives with zeros that nobody reads; whoever sends them is not to be cut off.
    io::copy(&mut input, &mut io::sink())?;
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    std::thread::sleep(TICK);
    Ok(Answer::Unpacked { at: i128::try_from(at.as_nanos()).map_err(io::Error::other)? })
}

fn watch(path: &Path) -> io::Result<()> {
    watching::watch(path, io::stdin().as_fd(), |event| {
        report(&if event.path.is_empty() { Report::Started } else { Report::Event(event.clone()) })
    })
}
