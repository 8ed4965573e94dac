//! Pipes to and from programs.

use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::SandboxError;
pub(super) use crate::output_capture::OutputCapture;

/// Opens a pipe and returns its reading and writing ends. A program gets a blocking end, as it expects.
pub(super) fn new_pipe() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|error| SandboxError::io("open a pipe")(error.into()))
}

/// Makes our end of a pipe readable by the runtime.
pub(super) fn receiver(end: OwnedFd) -> Result<pipe::Receiver, SandboxError> {
    nonblocking(&end)?;
    pipe::Receiver::from_owned_fd_unchecked(end).map_err(SandboxError::io("watch a pipe"))
}

/// Makes our end of a pipe writable by the runtime.
pub(super) fn sender(end: OwnedFd) -> Result<pipe::Sender, SandboxError> {
    nonblocking(&end)?;
    pipe::Sender::from_owned_fd_unchecked(end).map_err(SandboxError::io("watch a pipe"))
}

fn nonblocking(end: &OwnedFd) -> Result<(), SandboxError> {
    rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK)
        .map_err(|error| SandboxError::io("prepare a pipe")(error.into()))
}

/// Opens a pipe from a program and returns our end and its end.
pub(super) fn pipe_from_program() -> Result<(ProgramOutputPipe, OwnedFd), SandboxError> {
    let (read, write) = new_pipe()?;
    Ok((ProgramOutputPipe(Some(receiver(read)?)), write))
}

/// Maximum size of one read.
const LONGEST_READ: usize = 64 << 10;

/// Reading end of a pipe, until end of file.
pub(super) struct ProgramOutputPipe(Option<pipe::Receiver>);

impl ProgramOutputPipe {
    /// Stream without data that never ends.
    pub(super) fn nothing() -> Self {
        Self(None)
    }

    /// Output of a program on its terminal. When no process holds the terminal any more, the kernel answers with an
    /// error, which counts as end of file.
    pub(super) fn of_terminal(ours: OwnedFd) -> Result<Self, SandboxError> {
        Ok(Self(Some(receiver(ours)?)))
    }

    /// Whether more data may arrive.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Reads data; at end of file it returns 0 once and then never returns again.
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> usize {
        let Some(pipe) = &mut self.0 else { return std::future::pending().await };
        // The pipe is our own: an error can only mean that the other end is gone.
        let length = pipe.read(buffer).await.unwrap_or(0);
        if length == 0 {
            self.0 = None;
        }
        length
    }

    /// Number of bytes that can be read without waiting.
    pub(super) fn waiting(&self) -> usize {
        let waiting = self.0.as_ref().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok());
        waiting.and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
    }

    /// Reads available data without waiting, up to `left` bytes; `None` if there is none.
    pub(super) fn try_read(&mut self, left: &mut usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; (*left).min(LONGEST_READ)];
        if bytes.is_empty() {
            return None;
        }
        // Bypasses the runtime, which reports no data until it has polled the descriptor itself.
        let length = rustix::io::read(self.0.as_ref()?, &mut bytes).ok()?;
        if length == 0 {
            self.0 = None;
            return None;
        }
        *left -= length;
        bytes.truncate(length);
        Some(bytes)
    }

    /// Reads until every writer is gone.
    pub(super) async fn read_to_end(&mut self, mut kept: OutputCapture) -> OutputCapture {
        let mut buffer = vec![0; 16 << 10];
        while self.0.is_some() {
            let length = self.read(&mut buffer).await;
            kept.add(buffer.get(..length).unwrap_or_default());
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn data_written_later_is_not_read_with_the_waiting_bytes() {
        let (mut reading, writing) = pipe_from_program().unwrap();
        rustix::io::write(&writing, b"before").unwrap();
        let mut left = reading.waiting();
        rustix::io::write(&writing, b"after").unwrap();
        assert_eq!(reading.try_read(&mut left).as_deref(), Some(&b"before"[..]));
        assert_eq!(reading.try_read(&mut left), None, "a program that prints forever would be read forever");
    }
}
