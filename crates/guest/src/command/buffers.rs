//! Buffers between the host and a program.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use menace_guest::protocol::{GuestFrameKind, GuestReport, encode, push_frame};
use rustix::io::Errno;

/// Bytes that may wait for the host before reading from the program is suspended.
const MAX_BUFFERED: usize = 128 << 10;

/// Largest read, in bytes.
const CHUNK: usize = 32 << 10;

/// Frames that wait for the host.
#[derive(Default)]
pub(super) struct HostFrameQueue {
    bytes: VecDeque<u8>,
}

impl HostFrameQueue {
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() < MAX_BUFFERED
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn report(&mut self, report: &GuestReport) -> io::Result<()> {
        self.push(GuestFrameKind::Report, &encode(report)?);
        Ok(())
    }

    pub(super) fn push(&mut self, kind: GuestFrameKind, body: &[u8]) {
        let mut frame = Vec::new();
        push_frame(&mut frame, kind, body);
        self.bytes.extend(frame);
    }

    /// Writes as much as the host accepts without blocking.
    pub(super) fn write(&mut self) -> io::Result<()> {
        write_some(&mut self.bytes, io::stdout())
    }
}

/// Input that waits for the program.
#[derive(Default)]
pub(super) struct GuestInputQueue {
    bytes: VecDeque<u8>,
    is_complete: bool,
}

impl GuestInputQueue {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    pub(super) fn end(&mut self) {
        self.is_complete = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the input has ended and all of it was written.
    pub(super) fn is_done(&self) -> bool {
        self.is_complete && self.bytes.is_empty()
    }

    /// Writes as much as the program accepts without blocking, and returns the number of bytes.
    pub(super) fn write(&mut self, pipe: &OwnedFd) -> io::Result<usize> {
        let before = self.bytes.len();
        write_some(&mut self.bytes, pipe)?;
        Ok(before - self.bytes.len())
    }
}

fn write_some(bytes: &mut VecDeque<u8>, to: impl AsFd) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(&to, bytes.as_slices().0) {
            Ok(length) => drop(bytes.drain(..length)),
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Our end of an output stream of the program.
pub(super) struct GuestOutputPipe {
    pub(super) pipe: Option<OwnedFd>,
    kind: GuestFrameKind,
}

impl GuestOutputPipe {
    pub(super) fn new(pipe: Option<OwnedFd>, kind: GuestFrameKind) -> Self {
        Self { pipe, kind }
    }

    /// Reads once, at most `most` bytes, and returns the number of bytes. At its end the stream is closed.
    pub(super) fn read(&mut self, most: usize, to: &mut HostFrameQueue) -> usize {
        let Some(pipe) = &self.pipe else { return 0 };
        let mut buffer = vec![0; CHUNK.min(most)];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(length) if length > 0 => {
                to.push(self.kind, buffer.get(..length).unwrap_or_default());
                length
            }
            Err(Errno::AGAIN | Errno::INTR) => 0,
            // End of the stream. A terminal without an open slave end returns an error (EIO).
            Ok(_) | Err(_) => {
                self.pipe = None;
                0
            }
        }
    }

    /// Number of bytes that can be read without blocking.
    pub(super) fn waiting(&self) -> usize {
        let waiting = self.pipe.as_ref().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok());
        waiting.and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
    }
}
