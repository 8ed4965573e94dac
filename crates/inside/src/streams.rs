//! The streams to the host. Nothing is read ahead: what follows an order may be for somebody else.

use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use menace_inside::protocol::{Kind, LONGEST_FRAME, Report, encode, frame, read_frame};

/// How often the host is told that somebody works. A process that was stopped does not.
const BEAT: Duration = Duration::from_millis(400);

/// Frames are written one after the other, whoever writes them.
static WRITING: Mutex<()> = Mutex::new(());

/// Says something to the host.
pub(crate) fn report(report: &Report) -> io::Result<()> {
    send(Kind::Report, &encode(report)?)
}

fn send(kind: Kind, body: &[u8]) -> io::Result<()> {
    let _turn = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let frame = frame(kind, body);
    let mut left = frame.as_slice();
    while !left.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::write(io::stdout(), left))?;
        left = left.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// Tells the host from now on that this process works, until it ends.
pub(crate) fn beat() {
    thread::spawn(|| {
        loop {
            thread::sleep(BEAT);
            if report(&Report::StillWorking).is_err() {
                return;
            }
        }
    });
}

/// What the host says.
pub(crate) struct Host;

impl Read for Host {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::read(io::stdin(), &mut *buffer))?)
    }
}

/// The input of an order as one stream.
#[derive(Default)]
pub(crate) struct Input {
    frame: Vec<u8>,
    read: usize,
    is_over: bool,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.frame.len() && !self.is_over {
            match read_frame(&mut Host)? {
                Some((Kind::Input, body)) => (self.frame, self.read) = (body, 0),
                Some((Kind::InputEnd, _)) => self.is_over = true,
                // Half an archive is none.
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some((kind, _)) => return Err(io::Error::other(format!("{kind:?} among the input"))),
            }
        }
        let mut left = self.frame.get(self.read..).unwrap_or_default();
        let length = left.read(buffer)?;
        self.read += length;
        Ok(length)
    }
}

/// What an order prints, as frames.
pub(crate) struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.get(..LONGEST_FRAME).unwrap_or(bytes);
        send(Kind::Output, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
