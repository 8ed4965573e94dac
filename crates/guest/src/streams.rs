//! Streams to and from the host. No byte is read ahead: the frames after an order may be for another reader, such as the
//! relay of a command.

use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use menace_guest::protocol::{GuestFrameKind, GuestReport, LONGEST_FRAME, encode, frame, read_frame};

/// Interval of the heartbeat to the host. A stopped process does not send it.
const HEARTBEAT: Duration = Duration::from_millis(400);

/// Serialises the frames of all threads.
static WRITING: Mutex<()> = Mutex::new(());

/// Sends a report to the host.
pub(crate) fn report(report: &GuestReport) -> io::Result<()> {
    send(GuestFrameKind::Report, &encode(report)?)
}

fn send(kind: GuestFrameKind, body: &[u8]) -> io::Result<()> {
    let _guard = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let frame = frame(kind, body);
    let mut left = frame.as_slice();
    while !left.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::write(io::stdout(), left))?;
        left = left.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// Starts the heartbeat to the host, which lasts until this process exits.
pub(crate) fn start_heartbeat() {
    thread::spawn(|| {
        loop {
            thread::sleep(HEARTBEAT);
            if report(&GuestReport::StillWorking).is_err() {
                return;
            }
        }
    });
}

/// Reader of the host's frames.
pub(crate) struct HostReader;

impl Read for HostReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::read(io::stdin(), &mut *buffer))?)
    }
}

/// The input of an order as one stream.
#[derive(Default)]
pub(crate) struct RequestInput {
    frame: Vec<u8>,
    read: usize,
    is_over: bool,
}

impl Read for RequestInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.frame.len() && !self.is_over {
            match read_frame(&mut HostReader)? {
                Some((GuestFrameKind::Input, body)) => (self.frame, self.read) = (body, 0),
                Some((GuestFrameKind::InputEnd, _)) => self.is_over = true,
                // A truncated archive is an error.
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some((kind, _)) => {
                    return Err(io::Error::other(format!("unexpected frame in the input: {kind:?}")));
                }
            }
        }
        let mut left = self.frame.get(self.read..).unwrap_or_default();
        let length = left.read(buffer)?;
        self.read += length;
        Ok(length)
    }
}

/// Writer of an order's output, as frames.
pub(crate) struct RequestOutput;

impl Write for RequestOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.get(..LONGEST_FRAME).unwrap_or(bytes);
        send(GuestFrameKind::Output, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
