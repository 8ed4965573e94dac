//! Observes the container pool: updates metrics, writes log lines and publishes events.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use menace_sandbox::docker::{PoolEvent, PoolObserver};

use crate::metrics::Metrics;
use crate::sandboxes::{Happenings, Records};

/// Observer of the containers of the service.
pub(crate) struct Observer {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) happenings: Arc<Happenings>,
    pub(crate) records: Option<Records>,
}

impl PoolObserver for Observer {
    fn happened(&self, event: PoolEvent) {
        self.metrics.cleaning.count(&event);
        match event {
            PoolEvent::Created { .. } | PoolEvent::Waiting { .. } => {}
            PoolEvent::CreationFailed { image, failures, consecutive, backoff, problem, .. } => {
                let text = format!(
                    "failed to create a container of image {image} ({failures} failures, {consecutive} consecutive): {problem}"
                );
                tracing::warn!("{text}; retrying in {backoff:?}");
                self.happenings.tell("container.creation_failed", "", None, Some(text));
            }
            PoolEvent::LimitReached => {
                tracing::warn!("rejected a sandbox: container limit reached");
            }
            PoolEvent::Removed { why, name } => tracing::info!("removed {name}: {why:?}"),
            PoolEvent::RemovalFailed { name, attempts, is_alert, problem } => {
                tracing::warn!("failed to remove {name} (attempt {attempts}): {problem}");
                if is_alert {
                    self.happenings.tell("container.removal_failed", &name, None, Some(problem));
                }
            }
            PoolEvent::ForceKilled { name } => tracing::warn!("killed {name} in order to remove it"),
        }
    }

    fn keeps(&self) -> io::Result<BTreeSet<String>> {
        self.records.as_ref().map_or_else(|| Ok(BTreeSet::new()), Records::ids)
    }
}
