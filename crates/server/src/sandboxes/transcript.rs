//! Recorded output of a process in numbered chunks, so that a reader can reconnect and continue.
//!
//! A chunk that was delivered to a reader may still be in transit when the connection breaks. So delivered chunks are
//! kept for a while: more bytes than all buffers between the daemon and a reader hold. A reader that asks for a dropped
//! chunk gets an error; nothing is skipped silently.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Bytes kept after delivery: the socket buffers of both sides hold at most 4 and 6 MiB with Linux's default settings.
const DELIVERED_BYTES: usize = 16 << 20;
/// Bytes that may wait for a reader before the process is blocked.
const WAITING_BYTES: usize = 1 << 20;

/// Output stream of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptStream {
    /// stdout, or a terminal.
    Stdout,
    /// stderr.
    Stderr,
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptChunk {
    /// Sequence number, starting at 1.
    pub number: u64,
    /// Output stream.
    pub stream: TranscriptStream,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Behaviour when no reader is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptRetention {
    /// Block the process: no output is lost.
    All,
    /// Drop the oldest chunks: the process is never blocked.
    Last,
}

/// The requested chunks were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DroppedChunks {
    /// Number of the first chunk that is still available.
    pub first: u64,
}

/// Recorded output of a process.
#[derive(Debug)]
pub struct Transcript {
    keeping: TranscriptRetention,
    kept: Mutex<TranscriptBuffer>,
    /// Notified after output, a delivery or the end.
    changed: Notify,
}

#[derive(Debug, Default)]
struct TranscriptBuffer {
    chunks: VecDeque<TranscriptChunk>,
    bytes: usize,
    /// Number of the next chunk.
    next: u64,
    /// Number of the last chunk delivered to a reader, and the bytes after it.
    delivered: u64,
    waiting: usize,
    is_over: bool,
    dropped: u64,
}

impl Transcript {
    /// Creates an empty transcript.
    pub fn new(keeping: TranscriptRetention) -> Self {
        Self {
            keeping,
            kept: Mutex::new(TranscriptBuffer { next: 1, ..TranscriptBuffer::default() }),
            changed: Notify::new(),
        }
    }

    /// Waits until there is room for more.
    pub async fn wait_for_room(&self) {
        self.until(|kept| {
            (self.keeping == TranscriptRetention::Last || kept.waiting < WAITING_BYTES).then_some(())
        })
        .await;
    }

    /// Appends output. Callers await [`Transcript::wait_for_room`] first, so that the waiting bytes barely exceed their limit.
    pub fn push(&self, stream: TranscriptStream, bytes: Vec<u8>) {
        let mut kept = self.lock();
        kept.bytes += bytes.len();
        kept.waiting += bytes.len();
        let number = kept.next;
        kept.next += 1;
        kept.chunks.push_back(TranscriptChunk { number, stream, bytes });
        kept.forget(self.keeping);
        drop(kept);
        self.changed.notify_waiters();
    }

    /// Marks the end of the output.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_waiters();
    }

    /// Bytes dropped before any reader received them.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// Chunks after this number; waits for at least one. Empty at the end of the output.
    pub async fn after(&self, number: u64) -> Result<Vec<TranscriptChunk>, DroppedChunks> {
        self.until(|kept| kept.after(number)).await
    }

    /// All available chunks.
    pub fn all(&self) -> Vec<TranscriptChunk> {
        self.lock().chunks.iter().cloned().collect()
    }

    async fn until<T>(&self, mut look: impl FnMut(&mut TranscriptBuffer) -> Option<T>) -> T {
        loop {
            // Registered before the check, so that no notification is missed in between.
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let found = look(&mut self.lock());
            if let Some(found) = found {
                // Wakes tasks that wait for room.
                self.changed.notify_waiters();
                return found;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, TranscriptBuffer> {
        // The data behind the lock is consistent after every statement, so a panic cannot leave it broken.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Size limit of one delivery.
const DELIVERY_BYTES: usize = 256 << 10;

impl TranscriptBuffer {
    fn after(&mut self, number: u64) -> Option<Result<Vec<TranscriptChunk>, DroppedChunks>> {
        let first = self.chunks.front().map_or(self.next, |chunk| chunk.number);
        let wanted = number.saturating_add(1);
        if wanted < first {
            return Some(Err(DroppedChunks { first }));
        }
        let mut taken = Vec::new();
        let mut bytes = 0;
        let skipped = usize::try_from(wanted - first).unwrap_or(usize::MAX);
        for chunk in self.chunks.iter().skip(skipped) {
            bytes += chunk.bytes.len();
            taken.push(chunk.clone());
            if bytes >= DELIVERY_BYTES {
                break;
            }
        }
        let Some(last) = taken.last().map(|chunk| chunk.number) else {
            return self.is_over.then(|| Ok(Vec::new()));
        };
        if last > self.delivered {
            let new = taken.iter().filter(|chunk| chunk.number > self.delivered);
            self.waiting -= new.map(|chunk| chunk.bytes.len()).sum::<usize>();
            self.delivered = last;
        }
        Some(Ok(taken))
    }

    /// Drops chunks that are too old. Undelivered chunks are dropped only if `keeping` allows it.
    fn forget(&mut self, keeping: TranscriptRetention) {
        while self.bytes > DELIVERED_BYTES + WAITING_BYTES {
            let Some(oldest) = self.chunks.front() else { return };
            if oldest.number > self.delivered {
                if keeping == TranscriptRetention::All {
                    return;
                }
                self.waiting -= oldest.bytes.len();
                self.delivered = oldest.number;
                self.dropped += oldest.bytes.len() as u64;
            }
            self.bytes -= oldest.bytes.len();
            self.chunks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn filled(keeping: TranscriptRetention, chunks: usize, length: usize) -> Transcript {
        let transcript = Transcript::new(keeping);
        for number in 0..chunks {
            transcript.push(TranscriptStream::Stdout, vec![u8::try_from(number % 251).unwrap(); length]);
        }
        transcript
    }

    #[tokio::test]
    async fn a_reader_that_reconnects_continues_where_it_stopped() {
        let transcript = filled(TranscriptRetention::All, 10, 3);
        transcript.end();
        let numbers =
            |chunks: Vec<TranscriptChunk>| chunks.iter().map(|chunk| chunk.number).collect::<Vec<_>>();
        assert_eq!(numbers(transcript.after(0).await.unwrap()), (1..=10).collect::<Vec<_>>());
        assert_eq!(numbers(transcript.after(7).await.unwrap()), [8, 9, 10]);
        assert_eq!(transcript.after(10).await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_process_waits_for_its_reader_and_continues() {
        let transcript = Arc::new(filled(TranscriptRetention::All, 2, WAITING_BYTES));
        let writer = Arc::clone(&transcript);
        let waiting = tokio::spawn(async move { writer.wait_for_room().await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        transcript.after(0).await.unwrap();
        transcript.after(1).await.unwrap();
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn dropped_chunks_are_reported() {
        let transcript = filled(TranscriptRetention::Last, 40, 1 << 20);
        assert_eq!(transcript.dropped(), 23 << 20);
        assert_eq!(transcript.after(0).await, Err(DroppedChunks { first: 24 }));
        assert_eq!(transcript.after(23).await.unwrap()[0].number, 24);
    }

    #[tokio::test]
    async fn undelivered_chunks_are_kept_if_nothing_may_be_lost() {
        let transcript = filled(TranscriptRetention::All, 40, 1 << 20);
        assert_eq!(transcript.all().len(), 40);
        assert_eq!(transcript.dropped(), 0);
    }
}
