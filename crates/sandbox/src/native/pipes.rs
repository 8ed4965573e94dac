//! Pipes from programs, and how much of what they print is kept.

use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::SandboxError;
pub(super) use crate::kept::Kept;

/// Both ends of a pipe: reading, writing. A program gets an end that blocks, as it expects.
pub(super) fn new_pipe() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|error| SandboxError::io("open a pipe")(error.into()))
}

/// Our end of a pipe that is read.
pub(super) fn receiver(end: OwnedFd) -> Result<pipe::Receiver, SandboxError> {
    nonblocking(&end)?;
    pipe::Receiver::from_owned_fd_unchecked(end).map_err(SandboxError::io("watch a pipe"))
}

/// Our end of a pipe that is written.
pub(super) fn sender(end: OwnedFd) -> Result<pipe::Sender, SandboxError> {
    nonblocking(&end)?;
    pipe::Sender::from_owned_fd_unchecked(end).map_err(SandboxError::io("watch a pipe"))
}

fn nonblocking(end: &OwnedFd) -> Result<(), SandboxError> {
    rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK)
        .map_err(|error| SandboxError::io("prepare a pipe")(error.into()))
}

/// A pipe from a program: our end and its end.
pub(super) fn pipe_from_program() -> Result<(Reading, OwnedFd), SandboxError> {
    let (read, write) = new_pipe()?;
    Ok((Reading(Some(receiver(read)?)), write))
}

/// How much is read at once.
const LONGEST_READ: usize = 64 << 10;

/// The reading end of a pipe, until its end.
pub(super) struct Reading(Option<pipe::Receiver>);

impl Reading {
    /// A stream that has nothing and does not end.
    pub(super) fn nothing() -> Self {
        Self(None)
    }

    /// What a program prints to its terminal. The kernel answers with an error when nobody has the terminal any more, which
    /// is its end.
    pub(super) fn of_terminal(ours: OwnedFd) -> Result<Self, SandboxError> {
        Ok(Self(Some(receiver(ours)?)))
    }

    /// Whether something may come.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Reads; at the end of the stream it returns 0 once and then never again.
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> usize {
        let Some(pipe) = &mut self.0 else { return std::future::pending().await };
        // The other end is a pipe of our own: an error can only mean that it is gone.
        let length = pipe.read(buffer).await.unwrap_or(0);
        if length == 0 {
            self.0 = None;
        }
        length
    }

    /// How many bytes are there already.
    pub(super) fn waiting(&self) -> usize {
        let waiting = self.0.as_ref().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok());
        waiting.and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
    }

    /// Reads of what is there already, up to as many bytes as are left to be read; `None` if there is nothing.
    pub(super) fn try_read(&mut self, left: &mut usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; (*left).min(LONGEST_READ)];
        if bytes.is_empty() {
            return None;
        }
        // Not through the runtime, which says that there is nothing as long as it has not looked itself.
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
    pub(super) async fn read_to_end(&mut self, mut kept: Kept) -> Kept {
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
    async fn what_comes_later_is_not_read_with_what_was_there() {
        let (mut reading, writing) = pipe_from_program().unwrap();
        rustix::io::write(&writing, b"before").unwrap();
        let mut left = reading.waiting();
        rustix::io::write(&writing, b"after").unwrap();
        assert_eq!(reading.try_read(&mut left).as_deref(), Some(&b"before"[..]));
        assert_eq!(
            reading.try_read(&mut left),
            None,
            "a program that prints for ever would be read for ever"
        );
    }
}
