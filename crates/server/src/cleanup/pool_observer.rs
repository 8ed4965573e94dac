//! Observes the container pool: updates metrics, writes log lines and publishes events.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use menace_sandbox::docker::{PoolEvent, PoolObserver};

use crate::metrics::DaemonMetrics;
use crate::sandboxes::{SandboxEventLog, SandboxRecords};

/// Observer of the containers of the service.
pub(crate) struct ServicePoolObserver {
    pub(crate) metrics: Arc<DaemonMetrics>,
    pub(crate) happenings: Arc<SandboxEventLog>,
    pub(crate) records: Option<SandboxRecords>,
}

impl PoolObserver for ServicePoolObserver {
    fn on_event(&self, event: PoolEvent) {
        self.metrics.cleaning.count(&event);
        match event {
            PoolEvent::Created { .. } | PoolEvent::Waiting { .. } => {}
            PoolEvent::CreationFailed { image, failures, consecutive, backoff, problem, .. } => {
                let text = format!(
                    "failed to create a container of image {image} ({failures} failures, {consecutive} consecutive): {problem}"
                );
                tracing::warn!("{text}; retrying in {backoff:?}");
                self.happenings.publish("container.creation_failed", "", None, Some(text));
            }
            PoolEvent::LimitReached => {
                tracing::warn!("rejected a sandbox: container limit reached");
            }
            PoolEvent::Removed { why, name } => tracing::info!("removed {name}: {why:?}"),
            PoolEvent::RemovalFailed { name, attempts, is_alert, problem } => {
                tracing::warn!("failed to remove {name} (attempt {attempts}): {problem}");
                if is_alert {
                    self.happenings.publish("container.removal_failed", &name, None, Some(problem));
                }
            }
            PoolEvent::ForceKilled { name } => tracing::warn!("killed {name} in order to remove it"),
        }
    }

    fn sandboxes_to_keep(&self) -> io::Result<BTreeSet<String>> {
        self.records.as_ref().map_or_else(|| Ok(BTreeSet::new()), SandboxRecords::ids)
    }
}
