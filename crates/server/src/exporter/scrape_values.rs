//! Metric values collected at one scrape, encoded for Prometheus.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::metrics::classic;

/// Names and values of labels.
type LabelPairs = Vec<(String, String)>;

/// Metric values of one scrape.
#[derive(Default)]
pub(super) struct ScrapeValues {
    registry: Registry,
}

impl ScrapeValues {
    /// Adds a gauge, unless there is no value.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: Option<f64>) {
        if let Some(value) = value {
            let gauge = Gauge::<f64, AtomicU64>::default();
            gauge.set(value);
            self.registry.register(name, help, gauge);
        }
    }

    /// Adds a gauge for each value of a label.
    pub(super) fn gauges(&mut self, name: &str, help: &str, label: &str, values: BTreeMap<String, f64>) {
        if values.is_empty() {
            return;
        }
        let family = Family::<LabelPairs, Gauge<f64, AtomicU64>>::default();
        for (label_value, value) in values {
            family.get_or_create(&vec![(label.to_owned(), label_value)]).set(value);
        }
        self.registry.register(name, help, family);
    }

    /// Adds a counter. Its name ends in `_total`.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| *value >= 0.0) {
            let counter = Counter::<f64, AtomicU64>::default();
            counter.inc_by(value);
            self.registry.register(name.strip_suffix("_total").unwrap_or(name), help, counter);
        }
    }

    /// All values in the Prometheus text format.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        encode(&mut text, &self.registry).unwrap_or_default();
        classic(&text)
    }
}
