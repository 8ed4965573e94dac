//! What a command printed, chunk by chunk, so that a listener that was cut off goes on where it was.
//!
//! A chunk that was handed to a listener may still be on its way when the connection breaks. So chunks stay for a while after
//! that: more of them than all buffers between us and a listener hold. A listener that comes back for one that is gone is told
//! so; nothing is left out silently.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Bytes that stay after they were handed over: sockets of both sides hold 4 and 6 MiB at most on Linux, unless told otherwise.
const BEHIND: usize = 16 << 20;
/// Bytes that may wait for a listener before the command has to.
const AHEAD: usize = 1 << 20;

/// Which stream a chunk is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// stdout, or a terminal.
    Stdout,
    /// stderr.
    Stderr,
}

/// Something that was printed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// 1, 2, 3, …
    pub number: u64,
    /// Which stream.
    pub stream: Stream,
    /// What.
    pub bytes: Vec<u8>,
}

/// What happens when nobody listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// The command waits: nothing is lost.
    All,
    /// The oldest chunks go: the command never waits.
    Last,
}

/// Chunks that a listener wants are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The first one that is still there.
    pub first: u64,
}

/// What a command printed.
#[derive(Debug)]
pub struct Transcript {
    keeping: Keeping,
    kept: Mutex<Kept>,
    /// Somebody printed, listened, or came to an end.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    chunks: VecDeque<Chunk>,
    bytes: usize,
    /// The number of the next chunk.
    next: u64,
    /// The last chunk that was handed to a listener, and the bytes after it.
    delivered: u64,
    waiting: usize,
    is_over: bool,
    dropped: u64,
}

impl Transcript {
    /// An empty one.
    pub fn new(keeping: Keeping) -> Self {
        Self { keeping, kept: Mutex::new(Kept { next: 1, ..Kept::default() }), changed: Notify::new() }
    }

    /// Waits until there is room for more.
    pub async fn room(&self) {
        self.until(|kept| (self.keeping == Keeping::Last || kept.waiting < AHEAD).then_some(())).await;
    }

    /// Adds what was printed. [`Transcript::room`] is asked before, so that there is never much more than may wait.
    pub fn push(&self, stream: Stream, bytes: Vec<u8>) {
        let mut kept = self.lock();
        kept.bytes += bytes.len();
        kept.waiting += bytes.len();
        let number = kept.next;
        kept.next += 1;
        kept.chunks.push_back(Chunk { number, stream, bytes });
        kept.forget(self.keeping);
        drop(kept);
        self.changed.notify_waiters();
    }

    /// Nothing more comes.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_waiters();
    }

    /// Bytes that are gone because nobody listened.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// The chunks after this number; waits for some. Empty when there will be none.
    pub async fn after(&self, number: u64) -> Result<Vec<Chunk>, Lost> {
        self.until(|kept| kept.after(number)).await
    }

    /// Everything that is there now.
    pub fn all(&self) -> Vec<Chunk> {
        self.lock().chunks.iter().cloned().collect()
    }

    async fn until<T>(&self, mut look: impl FnMut(&mut Kept) -> Option<T>) -> T {
        loop {
            // Registered before looking, so that nothing is missed in between.
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let found = look(&mut self.lock());
            if let Some(found) = found {
                // Who waits for room looks again.
                self.changed.notify_waiters();
                return found;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // What is behind the lock is whole after every statement.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most that is handed over at once.
const AT_ONCE: usize = 256 << 10;

impl Kept {
    fn after(&mut self, number: u64) -> Option<Result<Vec<Chunk>, Lost>> {
        let first = self.chunks.front().map_or(self.next, |chunk| chunk.number);
        let wanted = number.saturating_add(1);
        if wanted < first {
            return Some(Err(Lost { first }));
        }
        let mut taken = Vec::new();
        let mut bytes = 0;
        let skipped = usize::try_from(wanted - first).unwrap_or(usize::MAX);
        for chunk in self.chunks.iter().skip(skipped) {
            bytes += chunk.bytes.len();
            taken.push(chunk.clone());
            if bytes >= AT_ONCE {
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

    /// Lets go of what is too old. What nobody has heard yet goes only if that is wanted.
    fn forget(&mut self, keeping: Keeping) {
        while self.bytes > BEHIND + AHEAD {
            let Some(oldest) = self.chunks.front() else { return };
            if oldest.number > self.delivered {
                if keeping == Keeping::All {
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

    fn filled(keeping: Keeping, chunks: usize, length: usize) -> Transcript {
        let transcript = Transcript::new(keeping);
        for number in 0..chunks {
            transcript.push(Stream::Stdout, vec![u8::try_from(number % 251).unwrap(); length]);
        }
        transcript
    }

    #[tokio::test]
    async fn who_comes_back_goes_on_where_it_was() {
        let transcript = filled(Keeping::All, 10, 3);
        transcript.end();
        let numbers = |chunks: Vec<Chunk>| chunks.iter().map(|chunk| chunk.number).collect::<Vec<_>>();
        assert_eq!(numbers(transcript.after(0).await.unwrap()), (1..=10).collect::<Vec<_>>());
        assert_eq!(numbers(transcript.after(7).await.unwrap()), [8, 9, 10]);
        assert_eq!(transcript.after(10).await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_command_waits_for_its_listener_and_goes_on() {
        let transcript = Arc::new(filled(Keeping::All, 2, AHEAD));
        let writer = Arc::clone(&transcript);
        let waiting = tokio::spawn(async move { writer.room().await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        transcript.after(0).await.unwrap();
        transcript.after(1).await.unwrap();
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn what_is_gone_is_said() {
        let transcript = filled(Keeping::Last, 40, 1 << 20);
        assert_eq!(transcript.dropped(), 23 << 20);
        assert_eq!(transcript.after(0).await, Err(Lost { first: 24 }));
        assert_eq!(transcript.after(23).await.unwrap()[0].number, 24);
    }

    #[tokio::test]
    async fn what_nobody_heard_stays_when_nothing_may_be_lost() {
        let transcript = filled(Keeping::All, 40, 1 << 20);
        assert_eq!(transcript.all().len(), 40);
        assert_eq!(transcript.dropped(), 0);
    }
}
