//! Expiry of sandboxes: destroys expired and oversized ones, stops idle ones.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::entry::{SandboxEntry, lock};
use super::requests::BackendName;
use super::service::SandboxService;
use super::tenants::Caller;
use super::views::SandboxStatus;
use crate::clock;

/// Interval between two checks for expired and idle sandboxes.
const REAP_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between two measurements of resource usage.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);

impl SandboxService {
    /// Destroys expired sandboxes and stops idle ones; never returns.
    pub async fn reap(self: Arc<Self>) {
        loop {
            tokio::time::sleep(REAP_INTERVAL).await;
            self.reap_once(clock::now_ms()).await;
        }
    }

    /// Measures the resource usage of running sandboxes, one after the other; never returns.
    pub async fn measure(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SAMPLE_INTERVAL).await;
            for entry in self.all(&Caller::default()) {
                if entry.now().status == SandboxStatus::Running
                    && let Err(error) = entry.sample().await
                {
                    tracing::debug!("failed to measure sandbox {}: {}", entry.id, error.message());
                }
                entry.forget_ended();
            }
        }
    }

    pub(super) async fn reap_once(&self, now: i64) {
        let entries: Vec<Arc<SandboxEntry>> = lock(&self.entries).values().cloned().collect();
        let ended = entries.iter().map(|entry| self.end_if_expired(entry, now));
        for (entry, result) in entries.iter().zip(join_all(ended).await) {
            if let Err(error) = result {
                tracing::warn!("failed to end sandbox {}: {}", entry.id, error.message());
            }
        }
    }

    async fn end_if_expired(
        &self,
        entry: &Arc<SandboxEntry>,
        now: i64,
    ) -> Result<(), crate::error::ApiError> {
        let state = entry.now();
        if state.expires_ms.is_some_and(|expires| expires <= now) {
            return self.destroy(entry, "expired").await;
        }
        let idle = state.idle.and_then(|idle| i64::try_from(idle.as_millis()).ok());
        let is_idle = entry.idle_ms(now).zip(idle).is_some_and(|(idle, most)| idle >= most);
        if state.status == SandboxStatus::Running && is_idle {
            return self.stop(entry, "idle timeout").await;
        }
        Ok(())
    }

    /// Destroys containers that exceed the disk limit.
    pub(crate) async fn end_too_large(&self) {
        let Some(most) = self.limits.container_disk else { return };
        for entry in self.all(&Caller::default()) {
            if entry.backend != BackendName::Docker || entry.now().status != SandboxStatus::Running {
                continue;
            }
            let taken = entry.sample().await.ok().and_then(|sample| sample.disk_bytes);
            if taken.is_some_and(|taken| taken > most) {
                match self.destroy(&entry, "disk limit exceeded").await {
                    Ok(()) => self.metrics.cleaning.disk_exceeded(),
                    Err(error) => tracing::warn!("failed to end sandbox {}: {}", entry.id, error.message()),
                }
            }
        }
    }

    /// Destroys the caller's sandboxes older than an age and returns their number.
    pub async fn clean_up(&self, caller: &Caller, older_than: Duration) -> usize {
        let before = clock::now_ms() - i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
        let old: Vec<Arc<SandboxEntry>> =
            self.all(caller).into_iter().filter(|entry| entry.created_ms <= before).collect();
        let ended = join_all(old.iter().map(|entry| self.destroy(entry, "clean-up requested"))).await;
        ended.iter().filter(|result| result.is_ok()).count()
    }

    /// Destroys all sandboxes.
    pub async fn destroy_all(&self, why: &str) {
        let all = self.all(&Caller::default());
        for (entry, result) in
            all.iter().zip(join_all(all.iter().map(|entry| self.destroy(entry, why))).await)
        {
            if let Err(error) = result {
                tracing::warn!("failed to destroy sandbox {}: {}", entry.id, error.message());
            }
        }
    }
}
