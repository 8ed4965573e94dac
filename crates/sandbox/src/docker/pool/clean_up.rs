//! Clean-up of the pool: removes expired, unhealthy and stale containers.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use super::super::clean_up::remove_stale;
use super::super::guest_requests;
use super::super::handle::ContainerHandle;
use super::super::janitor::{kill_and_remove, remove};
use super::super::labels::StalenessCriteria;
use super::allocation::{ContainerPool, WarmContainer};
use super::events::{PoolEvent, PoolRemovalReason};
use crate::SandboxError;

/// Resource that could not be removed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FailedContainerRemoval {
    why: Option<PoolRemovalReason>,
    attempts: u32,
}

impl ContainerPool {
    /// Removes expired and unhealthy containers, and retries failed removals.
    pub(in super::super) async fn remove_expired(&self) -> Result<(), SandboxError> {
        let _lock = crate::files::lock(self.options.lock.as_deref()).await?;
        self.retry_failed().await;
        let expired = self.shared.lock().expired(Instant::now(), self.options.idle, self.options.lifetime);
        for (idle, why) in expired {
            self.remove_idle(idle, Some(why)).await;
        }
        let waiting: Vec<Arc<ContainerHandle>> =
            self.shared.lock().all().filter_map(WarmContainer::handle).map(Arc::clone).collect();
        for handle in waiting {
            if let Some(why) = self.problem_of(&handle).await? {
                let matches = |idle: &WarmContainer| idle.handle().is_some_and(|other| other.id == handle.id);
                // A caller that has taken it meanwhile notices the problem itself.
                let idle = self.shared.lock().take_if(matches);
                if let Some(idle) = idle {
                    self.remove_idle(idle, Some(why)).await;
                }
            }
        }
        self.report_warm_counts();
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Problem of a warm container, if any. Its guest program must answer.
    async fn problem_of(
        &self,
        handle: &Arc<ContainerHandle>,
    ) -> Result<Option<PoolRemovalReason>, SandboxError> {
        match guest_requests::inspect(handle).await {
            Ok(found) if self.options.disk > 0 && found.disk_bytes > self.options.disk => {
                Ok(Some(PoolRemovalReason::Disk))
            }
            Ok(_) => Ok(None),
            // An engine that does not answer is no evidence about its containers.
            Err(error @ SandboxError::Unsupported { .. }) => Err(error),
            Err(error) => {
                tracing::info!("container {} is unhealthy: {error}", handle.id);
                Ok(Some(PoolRemovalReason::Unhealthy))
            }
        }
    }

    /// Removes stale resources of this owner.
    pub(in super::super) async fn remove_stale(&self) -> Result<(), SandboxError> {
        let _lock = crate::files::lock(self.options.lock.as_deref()).await?;
        let mut keep = self
            .observer
            .sandboxes_to_keep()
            .map_err(SandboxError::io("read the list of sandboxes to keep"))?;
        keep.extend(self.roll.ids());
        let unlisted = BTreeSet::new();
        let lifetime = Some(self.options.lifetime);
        let stale = StalenessCriteria { owner: &self.maker.owner, keep: &keep, listed: &unlisted, lifetime };
        let removed = remove_stale(&self.maker.engine, &stale).await?;
        self.report_removed(removed);
        Ok(())
    }

    /// Removes a warm container.
    pub(super) async fn remove_idle(&self, idle: WarmContainer, why: Option<PoolRemovalReason>) {
        let Some((handle, known)) = idle.into_parts() else { return };
        self.remove(&handle.id, why).await;
        drop(known);
    }

    async fn retry_failed(&self) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for id in self.maker.janitor.take_failed() {
            self.observer.on_event(PoolEvent::RemovalFailed {
                name: id.clone(),
                attempts: 1,
                is_alert: false,
                problem: "failed to remove a dropped sandbox".into(),
            });
            failed.entry(id).or_insert(FailedContainerRemoval { why: None, attempts: 1 });
        }
        for (id, before) in failed {
            self.remove(&id, before.why).await;
        }
    }

    async fn remove(&self, id: &str, why: Option<PoolRemovalReason>) {
        let docker = &self.maker.engine.docker;
        let mut removed = remove(docker, id).await;
        if let Err(error) = &removed {
            tracing::info!("killing container {id} because it could not be removed: {error}");
            removed = kill_and_remove(docker, id).await;
            if removed.is_ok() {
                self.observer.on_event(PoolEvent::ForceKilled { name: id.to_owned() });
            }
        }
        match removed {
            Ok(()) => {
                self.failed.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                if let Some(why) = why {
                    self.observer.on_event(PoolEvent::Removed { why, name: id.to_owned() });
                }
            }
            Err(error) => self.removal_failed(id.to_owned(), why, error.to_string()),
        }
    }

    /// Records a failed removal for a retry.
    pub(super) fn removal_failed(&self, name: String, why: Option<PoolRemovalReason>, problem: String) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = failed.entry(name.clone()).or_insert(FailedContainerRemoval { why, attempts: 0 });
        entry.attempts += 1;
        let attempts = entry.attempts;
        drop(failed);
        let is_alert = attempts == self.options.alert_threshold;
        if is_alert {
            tracing::error!("failed to remove {name} {attempts} times in a row: {problem}");
        }
        self.observer.on_event(PoolEvent::RemovalFailed { name, attempts, is_alert, problem });
    }
}
