//! What connects us with one call: its stream and its output.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::keeper::Keeper;
use crate::SandboxError;
use crate::native::pipes::{Kept, Reading, pipe_from_program};

/// A longer result is no result.
pub(super) const LONGEST_RESULT: u32 = 16 << 20;

/// Our ends.
pub(super) struct Line {
    pub(super) stream: UnixStream,
    pub(super) stdout: Reading,
    pub(super) stderr: Reading,
}

/// All that a call said.
pub(super) struct Said {
    pub(super) returned: Option<Value>,
    pub(super) stdout: Kept,
    pub(super) stderr: Kept,
}

impl Line {
    /// Opens everything and starts the call with the other ends; `None` when the keeper is dead.
    pub(super) async fn open(keeper: &Keeper, timeout: Duration) -> Result<Option<Self>, SandboxError> {
        let (stream, their_stream) = stream_pair().map_err(SandboxError::io("open a stream for a call"))?;
        let (stdout, their_stdout) = pipe_from_program()?;
        let (stderr, their_stderr) = pipe_from_program()?;
        let descriptors = [their_stream.as_fd(), their_stdout.as_fd(), their_stderr.as_fd()];
        let has_begun = keeper.begin(timeout, &descriptors).await;
        Ok(has_begun.then_some(Self { stream, stdout, stderr }))
    }

    /// Sends what is called and hears everything, to the end.
    pub(super) async fn converse(mut self, request: &[u8], limit: u64) -> Said {
        // The process may end without reading the request or before it has written a result.
        let sent = self.stream.write_all(request).await;
        let returned = async { if sent.is_ok() { read_result(&mut self.stream).await } else { None } };
        let (returned, stdout, stderr) = tokio::join!(
            returned,
            self.stdout.read_to_end(Kept::new(limit)),
            self.stderr.read_to_end(Kept::new(limit)),
        );
        Said { returned, stdout, stderr }
    }
}

fn stream_pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let ours = std::os::unix::net::UnixStream::from(ours);
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs))
}

/// Reads the first message. What the code under test writes after it, or instead of it, is not believed further than
/// that: it can lie about its own result and about nothing else.
async fn read_result(stream: &mut UnixStream) -> Option<Value> {
    let length = stream.read_u32_le().await.ok().filter(|length| *length <= LONGEST_RESULT)?;
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await.ok()?;
    serde_json::from_slice(&body).ok()
}
