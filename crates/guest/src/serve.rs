//! Executes one order of the host.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use menace_guest::protocol::{GuestFrameKind, GuestReply, GuestReport, GuestRequest, decode, read_frame};
use menace_guest::{archive, file_operations, file_watch};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::streams::{HostReader, RequestInput, RequestOutput, report, start_heartbeat};
use crate::{command, connection, inspect, written_files};

/// Longest tick of the kernel's coarse clock, from which change times (ctime) are taken.
const COARSE_CLOCK_TICK: Duration = Duration::from_millis(12);

/// Reads one order, executes it, and reports a failure to the host.
pub(crate) fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The host may have disconnected.
            drop(report(&GuestReport::Failed(error.into())));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let counts = inspect::IoCounts::open();
    // Commands run as the same user, and must not trace or inspect this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let order = match read_frame(&mut HostReader)? {
        Some((GuestFrameKind::Order, body)) => decode(&body)?,
        _ => return Err(io::Error::other("the first frame is not an order")),
    };
    match order {
        GuestRequest::Run(run) => command::run_command(&run, &counts),
        GuestRequest::Connect { port } => connection::serve(port),
        GuestRequest::Watch { path } => watch(&path),
        order => {
            start_heartbeat();
            report(&GuestReport::Done(execute(order)?))
        }
    }
}

/// Executes an order that has one answer.
fn execute(order: GuestRequest) -> io::Result<GuestReply> {
    Ok(match order {
        GuestRequest::Unpack { directory } => unpack(&directory)?,
        GuestRequest::Pack { path } => empty_reply(archive::pack(&path, RequestOutput)?),
        GuestRequest::PackWritten(request) => empty_reply(written_files::pack(&request)?),
        GuestRequest::List(request) => empty_reply(written_files::list(&request)?),
        GuestRequest::Remove { paths } => {
            empty_reply(paths.iter().try_for_each(|path| archive::remove(path))?)
        }
        GuestRequest::Files(work) => GuestReply::Files(file_operations::perform(&work)?),
        GuestRequest::Inspect => GuestReply::Inspected(Box::new(inspect::inspect()?)),
        GuestRequest::Run(_) | GuestRequest::Connect { .. } | GuestRequest::Watch { .. } => {
            return Err(io::Error::other("the order has no answer"));
        }
    })
}

fn empty_reply((): ()) -> GuestReply {
    GuestReply::Nothing
}

fn unpack(directory: &Path) -> io::Result<GuestReply> {
    let mut input = RequestInput::default();
    archive::unpack(directory, &mut input).map_err(io::Error::other)?;
    // Archives are padded with zeros, which the tar library does not read; they are consumed so that the sender can finish.
    io::copy(&mut input, &mut io::sink())?;
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    std::thread::sleep(COARSE_CLOCK_TICK);
    Ok(GuestReply::Unpacked { at: i128::try_from(at.as_nanos()).map_err(io::Error::other)? })
}

fn watch(path: &Path) -> io::Result<()> {
    file_watch::watch(path, io::stdin().as_fd(), |event| {
        report(&if event.path.is_empty() { GuestReport::Started } else { GuestReport::Event(event.clone()) })
    })
}
