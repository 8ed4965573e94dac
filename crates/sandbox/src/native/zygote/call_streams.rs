//! Streams of one call: its request stream, stdout and stderr.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::slot_supervisor::SlotSupervisor;
use crate::SandboxError;
use crate::native::pipes::{OutputCapture, ProgramOutputPipe, pipe_from_program};

/// Maximum size of a result; a longer one is discarded.
pub(super) const LONGEST_RESULT: u32 = 16 << 20;

/// Caller's ends of the streams of a call.
pub(super) struct CallStreams {
    pub(super) stream: UnixStream,
    pub(super) stdout: ProgramOutputPipe,
    pub(super) stderr: ProgramOutputPipe,
}

/// Answer and output of a call.
pub(super) struct CallOutput {
    /// Answer of the harness; `None` if the process ended before it.
    pub(super) answer: Option<Vec<u8>>,
    pub(super) stdout: OutputCapture,
    pub(super) stderr: OutputCapture,
}

impl CallStreams {
    /// Opens the streams and starts the call with their other ends; `None` when the slot supervisor is dead.
    pub(super) async fn open(
        supervisor: &SlotSupervisor,
        timeout: Duration,
    ) -> Result<Option<Self>, SandboxError> {
        let (stream, their_stream) = stream_pair().map_err(SandboxError::io("open a stream for a call"))?;
        let (stdout, their_stdout) = pipe_from_program()?;
        let (stderr, their_stderr) = pipe_from_program()?;
        let descriptors = [their_stream.as_fd(), their_stdout.as_fd(), their_stderr.as_fd()];
        let has_begun = supervisor.begin(timeout, &descriptors).await;
        Ok(has_begun.then_some(Self { stream, stdout, stderr }))
    }

    /// Sends the request and reads the answer and all output to the end.
    pub(super) async fn exchange(mut self, request: &[u8], limit: u64) -> CallOutput {
        // The process may end without reading the request or before it has written a result.
        let sent = self.stream.write_all(request).await;
        let answer = async { if sent.is_ok() { read_answer(&mut self.stream).await } else { None } };
        let (answer, stdout, stderr) = tokio::join!(
            answer,
            self.stdout.read_to_end(OutputCapture::new(limit)),
            self.stderr.read_to_end(OutputCapture::new(limit)),
        );
        CallOutput { answer, stdout, stderr }
    }
}

fn stream_pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let ours = std::os::unix::net::UnixStream::from(ours);
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs))
}

/// Reads the first message. Later output of the code under test on this stream is ignored: the code can forge its own
/// result and nothing else.
async fn read_answer(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let length = stream.read_u32_le().await.ok().filter(|length| *length <= LONGEST_RESULT)?;
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await.ok()?;
    Some(body)
}
