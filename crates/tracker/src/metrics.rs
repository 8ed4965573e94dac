//! Definitions of the metrics: name, unit, range and direction. A metric that is not listed comes from a plugin or a file.

use serde::Serialize;

/// Definition of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MetricDefinition {
    /// Its name.
    pub name: &'static str,
    /// Its unit; `None` for a share.
    pub unit: Option<&'static str>,
    /// Minimum value.
    pub least: f64,
    /// Maximum value.
    pub most: f64,
    /// Whether lower is better.
    pub less_is_better: bool,
    /// Description.
    pub help: &'static str,
}

const fn share(name: &'static str, help: &'static str) -> MetricDefinition {
    MetricDefinition { name, unit: None, least: 0.0, most: 1.0, less_is_better: false, help }
}

const fn measured(name: &'static str, unit: &'static str, help: &'static str) -> MetricDefinition {
    MetricDefinition { name, unit: Some(unit), least: 0.0, most: f64::INFINITY, less_is_better: true, help }
}

/// All built-in metrics.
pub const METRICS: [MetricDefinition; 22] = [
    share("reliability", "successful calls without faults"),
    share("resilience", "robustness under faults / robustness without faults"),
    measured("recovery_time", "s", "time from the end of a fault to the first successful call"),
    share("antifragility", "robustness after faults − robustness before them"),
    share("adaptability", "scenarios with at least 0.9 of the robustness without faults"),
    share("flexibility", "kinds of input handled / offered"),
    share("efficiency", "best CPU time of a call so far / CPU time now"),
    MetricDefinition {
        less_is_better: false,
        ..measured("throughput", "calls/s", "successful calls under concurrency")
    },
    measured("network_latency", "ms", "median time to the first byte"),
    measured("energy_consumption", "J", "energy used by calls"),
    measured("shannon_entropy", "bits/token", "entropy of the tokens of the code"),
    share("maintainability", "maintainability index / 100"),
    share("code_quality", "1 / (1 + lint findings per 100 lines)"),
    share("security_score", "1 / (1 + weighted security findings per 100 lines)"),
    share("safety_rating", "hostile and misuse calls that succeeded without a denied operation"),
    MetricDefinition {
        less_is_better: true,
        ..share("risk_index", "weighted mean of churn, poor maintainability and failures")
    },
    measured("patch_complexity", "points", "complexity added by the last patch"),
    MetricDefinition { less_is_better: false, ..measured("revenue", "money", "value of successful calls") },
    MetricDefinition { least: f64::NEG_INFINITY, ..share("profitability", "(value − cost) / value") },
    MetricDefinition {
        least: f64::NEG_INFINITY,
        ..share("projected_lucrativity", "forecast of profitability")
    },
    measured("discrepancy_count", "", "inconsistencies between workflows, metrics, history and module map"),
    share("coverage", "lines reached by calls / executable lines"),
];

/// The metric with this name.
pub fn metric(name: &str) -> Option<&'static MetricDefinition> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// Whether a value is in the range of a metric. `synergy_…` is a difference of two values; an unlisted metric may have any
/// finite value.
pub fn is_possible(name: &str, value: f64) -> bool {
    if !value.is_finite() {
        return false;
    }
    let difference = name.strip_prefix("synergy_");
    match metric(difference.unwrap_or(name)) {
        None => true,
        Some(metric) if difference.is_some() => value.abs() <= metric.most - metric.least,
        Some(metric) => (metric.least..=metric.most).contains(&value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_outside_the_range_of_a_metric_are_rejected() {
        assert!(is_possible("reliability", 1.0) && !is_possible("reliability", 1.01));
        assert!(is_possible("profitability", -9.0) && !is_possible("recovery_time", -0.1));
        assert!(is_possible("synergy_reliability", -0.4) && !is_possible("synergy_reliability", -1.4));
        assert!(is_possible("of_a_plugin", -3.0) && !is_possible("of_a_plugin", f64::NAN));
    }
}
