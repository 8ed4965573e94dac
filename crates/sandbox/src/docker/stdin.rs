//! Standard input of a command, sent without blocking its output.

use std::io;
use std::sync::Arc;

use menace_guest::protocol::{GuestFrameKind, WINDOW};
use tokio::io::{AsyncReadExt, DuplexStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::container_channel::ContainerSender;

/// Bytes per message.
const CHUNK: usize = 32 << 10;

/// Bytes buffered locally, in addition to those in flight.
const WAITING: usize = 64 << 10;

/// Task that sends input as long as the command reads.
pub(super) struct ContainerStdinSender {
    credits: Arc<Semaphore>,
    task: AbortHandle,
}

impl ContainerStdinSender {
    /// Sends these bytes first, then all bytes written to the returned stream until it is dropped.
    pub(super) fn start(to: ContainerSender, first: Vec<u8>) -> (Self, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(WAITING);
        let credits = Arc::new(Semaphore::new(WINDOW));
        let sending = Arc::clone(&credits);
        let task = tokio::spawn(async move {
            // A command may ignore its input, and an ended one needs none.
            drop(feed(&to, &sending, first, theirs).await);
        });
        (Self { credits, task: task.abort_handle() }, ours)
    }

    /// Grants credit for bytes that the command has read.
    pub(super) fn consumed(&self, bytes: u64) {
        // A guest that acknowledges more than was sent gets no more credit than the window.
        let bytes = usize::try_from(bytes).unwrap_or(WINDOW);
        let room = WINDOW.saturating_sub(self.credits.available_permits());
        self.credits.add_permits(bytes.min(room));
    }

    /// Stops sending because the command no longer reads.
    pub(super) fn end(&self) {
        self.credits.close();
        self.task.abort();
    }
}

impl Drop for ContainerStdinSender {
    fn drop(&mut self) {
        self.end();
    }
}

async fn feed(
    to: &ContainerSender,
    credits: &Semaphore,
    first: Vec<u8>,
    mut rest: DuplexStream,
) -> io::Result<()> {
    for bytes in first.chunks(CHUNK) {
        send(to, credits, bytes).await?;
    }
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = rest.read(&mut buffer).await?;
        if length == 0 {
            return to.send(GuestFrameKind::InputEnd, &[]).await;
        }
        send(to, credits, buffer.get(..length).unwrap_or_default()).await?;
    }
}

async fn send(to: &ContainerSender, credits: &Semaphore, bytes: &[u8]) -> io::Result<()> {
    let count = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    credits.acquire_many(count).await.map_err(io::Error::other)?.forget();
    to.send(GuestFrameKind::Input, bytes).await
}
