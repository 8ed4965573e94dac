//! Metrics of sandboxes, by backend.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::cleanup::CleanupMetrics;
use super::text_format::classic;
use crate::sandboxes::BackendName;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BackendLabels {
    backend: &'static str,
}

/// Upper bounds of the histogram buckets, in seconds.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// All metrics of the sandbox daemon.
pub struct DaemonMetrics {
    registry: Registry,
    creation_seconds: Family<BackendLabels, Histogram, fn() -> Histogram>,
    creation_failures: Family<BackendLabels, Counter>,
    cleanup_seconds: Family<BackendLabels, Histogram, fn() -> Histogram>,
    active: Family<BackendLabels, Gauge>,
    executed: Family<BackendLabels, Counter>,
    cpu_seconds: Counter<f64, AtomicU64>,
    /// Metrics of containers and of the clean-up.
    pub(crate) cleaning: CleanupMetrics,
}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

impl Default for DaemonMetrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let cleaning = CleanupMetrics::registered(&mut registry);
        let mut metrics = Self {
            registry,
            cleaning,
            creation_seconds: Family::new_with_constructor(histogram),
            creation_failures: Family::default(),
            cleanup_seconds: Family::new_with_constructor(histogram),
            active: Family::default(),
            executed: Family::default(),
            cpu_seconds: Counter::default(),
        };
        let registry = &mut metrics.registry;
        registry.register_with_unit(
            "sandbox_creation",
            "Time to create a sandbox",
            Unit::Seconds,
            metrics.creation_seconds.clone(),
        );
        registry.register(
            "sandbox_creation_failures",
            "Sandboxes that could not be created",
            metrics.creation_failures.clone(),
        );
        registry.register_with_unit(
            "sandbox_ending",
            "Time to destroy a sandbox",
            Unit::Seconds,
            metrics.cleanup_seconds.clone(),
        );
        registry.register("active_container_count", "Existing sandboxes", metrics.active.clone());
        registry.register("sandbox_commands", "Commands that finished", metrics.executed.clone());
        registry.register_with_unit(
            "sandbox_commands_cpu",
            "CPU time of finished commands, where the backend measures it",
            Unit::Seconds,
            metrics.cpu_seconds.clone(),
        );
        metrics
    }
}

impl DaemonMetrics {
    /// Counts a created sandbox.
    pub fn made(&self, backend: BackendName, took: Duration) {
        let labels = BackendLabels { backend: backend.name() };
        self.creation_seconds.get_or_create(&labels).observe(took.as_secs_f64());
        self.active.get_or_create(&labels).inc();
    }

    /// Counts an adopted sandbox.
    pub fn adopted(&self, backend: BackendName) {
        self.active.get_or_create(&BackendLabels { backend: backend.name() }).inc();
    }

    /// Counts a sandbox that could not be created.
    pub fn not_made(&self, backend: BackendName) {
        self.creation_failures.get_or_create(&BackendLabels { backend: backend.name() }).inc();
    }

    /// Counts a destroyed sandbox.
    pub fn ended(&self, backend: BackendName, took: Duration) {
        let labels = BackendLabels { backend: backend.name() };
        self.cleanup_seconds.get_or_create(&labels).observe(took.as_secs_f64());
        self.active.get_or_create(&labels).dec();
    }

    /// Counts a finished command.
    pub fn executed(&self, backend: BackendName, cpu_ms: Option<f64>) {
        self.executed.get_or_create(&BackendLabels { backend: backend.name() }).inc();
        if let Some(cpu_ms) = cpu_ms {
            self.cpu_seconds.inc_by(cpu_ms / 1e3);
        }
    }

    /// All metrics in the Prometheus text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        encode(&mut text, &self.registry).unwrap_or_default();
        classic(&text)
    }
}
