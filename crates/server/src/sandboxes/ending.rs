//! What ends by itself: sandboxes whose time is over, processes of those that nobody uses, sandboxes that died.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::entry::{Entry, lock};
use super::making::Sandboxes;
use super::tenants::Caller;
use super::view::Status;
use super::wanted::BackendName;
use crate::clock;

/// How often it is looked for what ends by itself.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is measured what sandboxes take.
const SAMPLE: Duration = Duration::from_secs(10);

impl Sandboxes {
    /// Ends what ends by itself, for ever.
    pub async fn reap(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.reap_once(clock::now_ms()).await;
        }
    }

    /// Measures what sandboxes take, for ever, one after the other.
    pub async fn measure(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SAMPLE).await;
            for entry in self.all(&Caller::default()) {
                if entry.now().status == Status::Running
                    && let Err(error) = entry.sample().await
                {
                    tracing::debug!("nobody knows what sandbox {} takes: {}", entry.id, error.message());
                }
                entry.forget_ended();
            }
        }
    }

    pub(super) async fn reap_once(&self, now: i64) {
        let entries: Vec<Arc<Entry>> = lock(&self.entries).values().cloned().collect();
        let ended = entries.iter().map(|entry| self.end_if_over(entry, now));
        for (entry, result) in entries.iter().zip(join_all(ended).await) {
            if let Err(error) = result {
                tracing::warn!("sandbox {} did not end: {}", entry.id, error.message());
            }
        }
    }

    async fn end_if_over(&self, entry: &Arc<Entry>, now: i64) -> Result<(), crate::error::ApiError> {
        let state = entry.now();
        if state.expires_ms.is_some_and(|expires| expires <= now) {
            return self.destroy(entry, "its time was over").await;
        }
        let idle = state.idle.and_then(|idle| i64::try_from(idle.as_millis()).ok());
        let is_idle = entry.idle_ms(now).zip(idle).is_some_and(|(idle, most)| idle >= most);
        if state.status == Status::Running && is_idle {
            return self.stop(entry, "nobody used it").await;
        }
        Ok(())
    }

    /// Destroys containers whose files take more than they may.
    pub(crate) async fn end_too_large(&self) {
        let Some(most) = self.limits.container_disk else { return };
        for entry in self.all(&Caller::default()) {
            if entry.backend != BackendName::Docker || entry.now().status != Status::Running {
                continue;
            }
            let taken = entry.sample().await.ok().and_then(|sample| sample.disk_bytes);
            if taken.is_some_and(|taken| taken > most) {
                match self.destroy(&entry, "its files took too much").await {
                    Ok(()) => self.metrics.cleaning.disk_exceeded(),
                    Err(error) => tracing::warn!("sandbox {} did not end: {}", entry.id, error.message()),
                }
            }
        }
    }

    /// Destroys sandboxes of a caller that are older than so long; how many.
    pub async fn clean_up(&self, caller: &Caller, older_than: Duration) -> usize {
        let before = clock::now_ms() - i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
        let old: Vec<Arc<Entry>> =
            self.all(caller).into_iter().filter(|entry| entry.created_ms <= before).collect();
        let ended = join_all(old.iter().map(|entry| self.destroy(entry, "it was cleaned up"))).await;
        ended.iter().filter(|result| result.is_ok()).count()
    }

    /// Destroys all.
    pub async fn destroy_all(&self, why: &str) {
        let all = self.all(&Caller::default());
        for (entry, result) in
            all.iter().zip(join_all(all.iter().map(|entry| self.destroy(entry, why))).await)
        {
            if let Err(error) = result {
                tracing::warn!("sandbox {} was not destroyed: {}", entry.id, error.message());
            }
        }
    }
}
