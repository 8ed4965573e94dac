//! Live feed of events: the database is polled once for all listeners, and only while there are any.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use menace_store::{EventRecord, Store};
use tokio::sync::broadcast;

use super::response_cache::ResponseCache;

/// Polling interval, the maximum delay of an event.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Number of events buffered for a slow listener.
const BUFFERED_EVENTS: usize = 1024;
/// Number of events read in one query.
const PAGE_SIZE: u64 = 500;

pub(super) struct EventFeed {
    sender: broadcast::Sender<Arc<EventRecord>>,
    is_asking: Arc<AtomicBool>,
    answers: Arc<ResponseCache>,
}

impl EventFeed {
    /// Creates a feed that invalidates cached responses when events arrive.
    pub(super) fn new(answers: Arc<ResponseCache>) -> Self {
        Self { sender: broadcast::channel(BUFFERED_EVENTS).0, is_asking: Arc::default(), answers }
    }

    /// True if there are listeners.
    pub(super) fn is_followed(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// Subscribes to new events.
    pub(super) fn listen(&self, store: &Store) -> broadcast::Receiver<Arc<EventRecord>> {
        let receiver = self.sender.subscribe();
        if !self.is_asking.swap(true, Ordering::AcqRel) {
            let (is_asking, answers) = (Arc::clone(&self.is_asking), Arc::clone(&self.answers));
            tokio::spawn(poll(store.clone(), self.sender.clone(), is_asking, answers));
        }
        receiver
    }
}

async fn poll(
    store: Store,
    sender: broadcast::Sender<Arc<EventRecord>>,
    is_asking: Arc<AtomicBool>,
    answers: Arc<ResponseCache>,
) {
    let mut last = None;
    loop {
        let polled = match last {
            // Listeners read earlier events themselves.
            None => store.last_events(None, 1).await,
            Some(last) => store.events_after(last, PAGE_SIZE).await,
        };
        match polled {
            Ok(events) => {
                let is_first = last.is_none();
                last = Some(events.last().map_or(last.unwrap_or(0), |event| event.id));
                // A listener that receives the event will request the new state.
                if !is_first && !events.is_empty() {
                    answers.forget();
                }
                for event in events.into_iter().filter(|_| !is_first) {
                    // Fails if there are no listeners.
                    let _ = sender.send(Arc::new(event));
                }
            }
            Err(error) => tracing::warn!("failed to read events: {error}"),
        }
        if sender.receiver_count() == 0 {
            is_asking.store(false, Ordering::Release);
            // A listener that subscribed between the two lines above would otherwise never receive an event.
            if sender.receiver_count() == 0 || is_asking.swap(true, Ordering::AcqRel) {
                return;
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
