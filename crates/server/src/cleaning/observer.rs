//! Hears what happens to containers: counts it, says it, and tells those who listen.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use menace_sandbox::docker::{PoolEvent, PoolObserver};

use crate::metrics::Metrics;
use crate::sandboxes::{Happenings, Records};

/// Whoever has the containers of the service.
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
                    "a container of image {image} could not be made ({failures} times, {consecutive} in a row): {problem}"
                );
                tracing::warn!("{text}; the next attempt is in {backoff:?}");
                self.happenings.tell("container.creation_failed", "", None, Some(text));
            }
            PoolEvent::LimitReached => {
                tracing::warn!("a sandbox was refused, because there are too many containers");
            }
            PoolEvent::Removed { why, name } => tracing::info!("removed {name}: {why:?}"),
            PoolEvent::RemovalFailed { name, attempts, is_alert, problem } => {
                tracing::warn!("{name} could not be removed (attempt {attempts}): {problem}");
                if is_alert {
                    self.happenings.tell("container.removal_failed", &name, None, Some(problem));
                }
            }
            PoolEvent::ForceKilled { name } => tracing::warn!("{name} was killed to be removed"),
        }
    }

    fn keeps(&self) -> io::Result<BTreeSet<String>> {
        self.records.as_ref().map_or_else(|| Ok(BTreeSet::new()), Records::ids)
    }
}
