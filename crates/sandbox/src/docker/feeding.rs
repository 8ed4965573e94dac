//! The standard input of a command, written without holding up what it prints.

use std::io;
use std::sync::Arc;

use menace_inside::protocol::{Kind, WINDOW};
use tokio::io::{AsyncReadExt, DuplexStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::link::ToInside;

/// How much is sent at once.
const CHUNK: usize = 32 << 10;

/// How much may wait here, beside what is under way.
const WAITING: usize = 64 << 10;

/// Sends input as long as the command reads.
pub(super) struct Feeding {
    credits: Arc<Semaphore>,
    task: AbortHandle,
}

impl Feeding {
    /// Sends these bytes first, and then what is written to the stream that is returned, until that is dropped.
    pub(super) fn start(to: ToInside, first: Vec<u8>) -> (Self, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(WAITING);
        let credits = Arc::new(Semaphore::new(WINDOW));
        let sending = Arc::clone(&credits);
        let task = tokio::spawn(async move {
            // A command that does not read all of it is within its rights, and one that is gone needs nothing.
            drop(feed(&to, &sending, first, theirs).await);
        });
        (Self { credits, task: task.abort_handle() }, ours)
    }

    /// The command has read so much.
    pub(super) fn consumed(&self, bytes: u64) {
        // Whoever says more than was sent gets no more than was ever allowed.
        let bytes = usize::try_from(bytes).unwrap_or(WINDOW);
        let room = WINDOW.saturating_sub(self.credits.available_permits());
        self.credits.add_permits(bytes.min(room));
    }

    /// The command does not read any more.
    pub(super) fn end(&self) {
        self.credits.close();
        self.task.abort();
    }
}

impl Drop for Feeding {
    fn drop(&mut self) {
        self.end();
    }
}

async fn feed(to: &ToInside, credits: &Semaphore, first: Vec<u8>, mut rest: DuplexStream) -> io::Result<()> {
    for bytes in first.chunks(CHUNK) {
        send(to, credits, bytes).await?;
    }
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = rest.read(&mut buffer).await?;
        if length == 0 {
            return to.send(Kind::InputEnd, &[]).await;
        }
        send(to, credits, buffer.get(..length).unwrap_or_default()).await?;
    }
}

async fn send(to: &ToInside, credits: &Semaphore, bytes: &[u8]) -> io::Result<()> {
    let count = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    credits.acquire_many(count).await.map_err(io::Error::other)?.forget();
    to.send(Kind::Input, bytes).await
}
