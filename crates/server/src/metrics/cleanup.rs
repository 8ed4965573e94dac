//! Metrics of the container pool and of the clean-up: containers created, idle, removed and failed.
//!
//! The first edition wrote these names without the `_total` suffix of counters, so those without it are gauges. It also put
//! the name of the image into some names; here it is a label.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use menace_sandbox::docker::{PoolEvent, PoolRemovalReason};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

type SecondsGauge = Gauge<f64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ImageLabels {
    image: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CleanupWorkerLabels {
    worker: &'static str,
}

/// Worker of the clean-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CleanupWorker {
    /// Removes containers that are idle for too long or unhealthy.
    Cleanup,
    /// Removes stale containers, volumes and networks.
    Reaper,
}

impl CleanupWorker {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cleanup => "cleanup",
            Self::Reaper => "reaper",
        }
    }
}

/// Metrics of the container pool and of the clean-up.
#[derive(Default)]
pub(crate) struct CleanupMetrics {
    idle: Gauge,
    unhealthy: Gauge,
    lifetime: Gauge,
    disk: Gauge,
    volumes: Gauge,
    networks: Gauge,
    containers: Gauge,
    stale_overlays: Gauge,
    runtime_overlays: Gauge,
    failures: Gauge,
    force_kills: Gauge,
    limit_reached: Gauge,
    swept: Family<CleanupWorkerLabels, SecondsGauge>,
    swept_cleanup: SecondsGauge,
    swept_reaper: SecondsGauge,
    creation_failures: Family<ImageLabels, Counter>,
    creation_successes: Family<ImageLabels, Counter>,
    creation_alerts: Family<ImageLabels, Counter>,
    creation_seconds: Family<ImageLabels, SecondsGauge>,
    image_failures: Family<ImageLabels, Gauge>,
    image_consecutive: Family<ImageLabels, Gauge>,
    waiting: Family<ImageLabels, Gauge>,
    backoff: SecondsGauge,
}

impl CleanupMetrics {
    /// Creates the metrics and adds them to a registry.
    pub(crate) fn registered(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        for (name, help, gauge) in [
            ("cleanup_idle", "Containers removed because they were idle", &metrics.idle),
            ("cleanup_unhealthy", "Containers removed because they were unhealthy", &metrics.unhealthy),
            ("cleanup_lifetime", "Containers removed because of their age", &metrics.lifetime),
            ("cleanup_disk", "Containers removed because of the size of their files", &metrics.disk),
            ("cleanup_volume", "Stale volumes removed", &metrics.volumes),
            ("cleanup_network", "Stale networks removed", &metrics.networks),
            ("stale_containers_removed", "Stale containers removed", &metrics.containers),
            ("stale_vms_removed", "Stale overlays removed at the start", &metrics.stale_overlays),
            ("runtime_vms_removed", "Stale overlays removed at run time", &metrics.runtime_overlays),
            ("cleanup_failures", "Failed attempts to remove a resource", &metrics.failures),
            ("force_kills", "Containers killed because they could not be removed", &metrics.force_kills),
            (
                "active_container_limit_reached",
                "Sandboxes rejected because of the container limit",
                &metrics.limit_reached,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
        let help = "Duration of the last sweep";
        registry.register_with_unit("cleanup_duration", help, Unit::Seconds, metrics.swept.clone());
        registry.register("cleanup_duration_seconds_cleanup", help, metrics.swept_cleanup.clone());
        registry.register("cleanup_duration_seconds_reaper", help, metrics.swept_reaper.clone());
        metrics.register_images(registry);
        metrics
    }

    fn register_images(&self, registry: &mut Registry) {
        for (name, help, counter) in [
            ("container_creation_failures", "Containers that could not be created", &self.creation_failures),
            ("container_creation_success", "Containers created", &self.creation_successes),
            (
                "container_creation_alerts",
                "Alerts about containers that could not be created",
                &self.creation_alerts,
            ),
        ] {
            registry.register(name, help, counter.clone());
        }
        let help = "Duration of the last attempt to create a container";
        registry.register_with_unit("container_creation", help, Unit::Seconds, self.creation_seconds.clone());
        for (name, help, gauge) in [
            (
                "container_failures",
                "Creation failures of all processes of this data directory",
                &self.image_failures,
            ),
            ("consecutive_failures", "Creation failures since the last success", &self.image_consecutive),
            ("pooled_container_count", "Idle containers in the pool", &self.waiting),
        ] {
            registry.register(name, help, gauge.clone());
        }
        let help = "Current delay after a failed attempt, in seconds";
        registry.register("container_backoff_base", help, self.backoff.clone());
    }

    /// Counts an event of the container pool.
    pub(crate) fn count(&self, event: &PoolEvent) {
        match event {
            PoolEvent::Created { image, took, backoff } => {
                let image = &ImageLabels { image: image.clone() };
                self.creation_successes.get_or_create(image).inc();
                self.creation_seconds.get_or_create(image).set(took.as_secs_f64());
                self.image_consecutive.get_or_create(image).set(0);
                self.backoff.set(backoff.as_secs_f64());
            }
            PoolEvent::CreationFailed { image, took, failures, consecutive, backoff, .. } => {
                let image = &ImageLabels { image: image.clone() };
                self.creation_failures.get_or_create(image).inc();
                self.creation_alerts.get_or_create(image).inc();
                self.creation_seconds.get_or_create(image).set(took.as_secs_f64());
                self.image_failures.get_or_create(image).set(whole(*failures));
                self.image_consecutive.get_or_create(image).set(whole(*consecutive));
                self.backoff.set(backoff.as_secs_f64());
            }
            PoolEvent::Waiting { image, count } => {
                let image = ImageLabels { image: image.clone() };
                self.waiting.get_or_create(&image).set(whole(*count as u64));
            }
            PoolEvent::LimitReached => drop(self.limit_reached.inc()),
            PoolEvent::Removed { why, .. } => self.count_removed(*why),
            PoolEvent::RemovalFailed { .. } => drop(self.failures.inc()),
            PoolEvent::ForceKilled { .. } => drop(self.force_kills.inc()),
        }
    }

    fn count_removed(&self, why: PoolRemovalReason) {
        let gauge = match why {
            PoolRemovalReason::Idle => &self.idle,
            PoolRemovalReason::Unhealthy => &self.unhealthy,
            PoolRemovalReason::Lifetime => &self.lifetime,
            PoolRemovalReason::Disk => &self.disk,
            PoolRemovalReason::StaleContainer => &self.containers,
            PoolRemovalReason::StaleVolume => &self.volumes,
            PoolRemovalReason::StaleNetwork => &self.networks,
            // Evicted to make room for a sandbox, which is not clean-up.
            PoolRemovalReason::GaveWay => return,
        };
        gauge.inc();
    }

    /// Counts a sandbox that was destroyed because it exceeded its disk limit.
    pub(crate) fn disk_exceeded(&self) {
        self.disk.inc();
    }

    /// Counts overlays of virtual machines that were removed, at the start or later, and those that could not be removed.
    pub(crate) fn overlays(&self, is_start: bool, removed: usize, failed: usize) {
        let gauge = if is_start { &self.stale_overlays } else { &self.runtime_overlays };
        gauge.inc_by(whole(removed as u64));
        self.failures.inc_by(whole(failed as u64));
    }

    /// Counts a failed clean-up task.
    pub(crate) fn failed(&self) {
        self.failures.inc();
    }

    /// Records the duration of a sweep.
    pub(crate) fn swept(&self, worker: CleanupWorker, took: Duration) {
        let seconds = took.as_secs_f64();
        self.swept.get_or_create(&CleanupWorkerLabels { worker: worker.name() }).set(seconds);
        match worker {
            CleanupWorker::Cleanup => self.swept_cleanup.set(seconds),
            CleanupWorker::Reaper => self.swept_reaper.set(seconds),
        };
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn metric_names_are_those_of_the_first_edition() {
        let mut registry = Registry::default();
        let metrics = CleanupMetrics::registered(&mut registry);
        let second = Duration::from_secs(1);
        metrics.count(&PoolEvent::CreationFailed {
            image: "a:1".into(),
            took: second,
            failures: 3,
            consecutive: 2,
            backoff: second,
            problem: String::new(),
        });
        metrics.count(&PoolEvent::Created { image: "b:1".into(), took: second, backoff: second });
        for why in [
            PoolRemovalReason::Idle,
            PoolRemovalReason::Unhealthy,
            PoolRemovalReason::Lifetime,
            PoolRemovalReason::Disk,
            PoolRemovalReason::StaleContainer,
            PoolRemovalReason::StaleVolume,
            PoolRemovalReason::StaleNetwork,
        ] {
            metrics.count(&PoolEvent::Removed { why, name: String::new() });
        }
        metrics.count(&PoolEvent::LimitReached);
        metrics.count(&PoolEvent::ForceKilled { name: String::new() });
        metrics.overlays(true, 1, 1);
        metrics.overlays(false, 1, 0);
        metrics.swept(CleanupWorker::Cleanup, second);
        metrics.swept(CleanupWorker::Reaper, second);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "cleanup_idle 1",
            "cleanup_unhealthy 1",
            "cleanup_lifetime 1",
            "cleanup_disk 1",
            "cleanup_volume 1",
            "cleanup_network 1",
            "stale_containers_removed 1",
            "stale_vms_removed 1",
            "runtime_vms_removed 1",
            "cleanup_failures 1",
            "force_kills 1",
            "active_container_limit_reached 1",
            "cleanup_duration_seconds{worker=\"cleanup\"} 1.0",
            "cleanup_duration_seconds{worker=\"reaper\"} 1.0",
            "cleanup_duration_seconds_cleanup 1.0",
            "cleanup_duration_seconds_reaper 1.0",
            "container_failures{image=\"a:1\"} 3",
            "consecutive_failures{image=\"a:1\"} 2",
            "container_creation_failures_total{image=\"a:1\"} 1",
            "container_creation_success_total{image=\"b:1\"} 1",
            "container_creation_alerts_total{image=\"a:1\"} 1",
            "container_creation_seconds{image=\"b:1\"} 1.0",
            "container_backoff_base 1.0",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} is missing from\n{text}");
        }
    }
}
