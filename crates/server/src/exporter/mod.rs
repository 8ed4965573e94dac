//! Prometheus exporters of a data directory. They read its files at every scrape, so no other process has to run.

mod directory_metrics;
mod endpoint;
mod scrape_values;
mod supervised;
mod synergy_metrics;

pub use directory_metrics::DirectoryMetricsSource;
pub(crate) use endpoint::answer;
pub use endpoint::{Exporter, ExporterError, MetricsSource};
pub use supervised::SupervisedExporter;
pub use synergy_metrics::SynergyMetricsSource;
