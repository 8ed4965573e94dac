//! What happens, for all who look: the database is asked once for all of them, and only while somebody looks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use menace_store::{EventRecord, Store};
use tokio::sync::broadcast;

use super::shared::Answers;

/// How often it is asked. Somebody who looks sees something at most so much later.
const BETWEEN: Duration = Duration::from_millis(200);
/// Events that wait for somebody who is slow.
const WAITING: usize = 1024;
/// Events that are read at once.
const PAGE: u64 = 500;

pub(super) struct Feed {
    sender: broadcast::Sender<Arc<EventRecord>>,
    is_asking: Arc<AtomicBool>,
    answers: Arc<Answers>,
}

impl Feed {
    /// One that says of answers when they are too old.
    pub(super) fn new(answers: Arc<Answers>) -> Self {
        Self { sender: broadcast::channel(WAITING).0, is_asking: Arc::default(), answers }
    }

    /// Whether anybody listens.
    pub(super) fn is_followed(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// What happens from now on.
    pub(super) fn listen(&self, store: &Store) -> broadcast::Receiver<Arc<EventRecord>> {
        let receiver = self.sender.subscribe();
        if !self.is_asking.swap(true, Ordering::AcqRel) {
            let (is_asking, answers) = (Arc::clone(&self.is_asking), Arc::clone(&self.answers));
            tokio::spawn(ask(store.clone(), self.sender.clone(), is_asking, answers));
        }
        receiver
    }
}

async fn ask(
    store: Store,
    sender: broadcast::Sender<Arc<EventRecord>>,
    is_asking: Arc<AtomicBool>,
    answers: Arc<Answers>,
) {
    let mut last = None;
    loop {
        let asked = match last {
            // Listeners read what was before by themselves.
            None => store.last_events(None, 1).await,
            Some(last) => store.events_after(last, PAGE).await,
        };
        match asked {
            Ok(events) => {
                let is_first = last.is_none();
                last = Some(events.last().map_or(last.unwrap_or(0), |event| event.id));
                // Whoever hears of it asks what is so now.
                if !is_first && !events.is_empty() {
                    answers.forget();
                }
                for event in events.into_iter().filter(|_| !is_first) {
                    // Nobody has to listen.
                    let _ = sender.send(Arc::new(event));
                }
            }
            Err(error) => tracing::warn!("events cannot be read: {error}"),
        }
        if sender.receiver_count() == 0 {
            is_asking.store(false, Ordering::Release);
            // Somebody may have come between the two lines above, and would wait for ever.
            if sender.receiver_count() == 0 || is_asking.swap(true, Ordering::AcqRel) {
                return;
            }
        }
        tokio::time::sleep(BETWEEN).await;
    }
}
