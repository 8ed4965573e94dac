//! The metrics: what each is called, its unit, where it can be, and which way is better. A metric that is not here is an extra
//! one, of a plugin or a file.

use serde::Serialize;

/// What is known about a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Metric {
    /// How it is called.
    pub name: &'static str,
    /// Its unit; nothing for a share.
    pub unit: Option<&'static str>,
    /// The least that it can be.
    pub least: f64,
    /// The most that it can be.
    pub most: f64,
    /// Whether less is better.
    pub less_is_better: bool,
    /// What it says.
    pub help: &'static str,
}

const fn share(name: &'static str, help: &'static str) -> Metric {
    Metric { name, unit: None, least: 0.0, most: 1.0, less_is_better: false, help }
}

const fn measured(name: &'static str, unit: &'static str, help: &'static str) -> Metric {
    Metric { name, unit: Some(unit), least: 0.0, most: f64::INFINITY, less_is_better: true, help }
}

/// All of them.
pub const METRICS: [Metric; 22] = [
    share("reliability", "calls that end well in ordinary circumstances"),
    share("resilience", "robustness under faults, as a share of that in ordinary circumstances"),
    measured("recovery_time", "s", "from the end of a fault to the first call that ends well"),
    share("antifragility", "robustness after faults less that before them"),
    share("adaptability", "scenarios with at least 0.9 of the ordinary robustness"),
    share("flexibility", "kinds of input that are handled, of those offered"),
    share("efficiency", "the best CPU time of a call that was seen, as a share of that now"),
    Metric {
        less_is_better: false,
        ..measured("throughput", "calls/s", "calls that end well while many are made at once")
    },
    measured("network_latency", "ms", "median time until the first byte"),
    measured("energy_consumption", "J", "what calls consume"),
    measured("shannon_entropy", "bits/token", "entropy of the tokens of the code"),
    share("maintainability", "maintainability index / 100"),
    share("code_quality", "few lint findings for each line"),
    share("security_score", "few security findings for each line"),
    share("safety_rating", "hostile and wrong calls that ended well and touched nothing forbidden"),
    Metric {
        less_is_better: true,
        ..share("risk_index", "churn, poor maintainability and failures together")
    },
    measured("patch_complexity", "points", "how much the last patch complicates"),
    Metric { less_is_better: false, ..measured("revenue", "money", "what calls that end well are worth") },
    Metric { least: f64::NEG_INFINITY, ..share("profitability", "(value − cost) / value") },
    Metric { least: f64::NEG_INFINITY, ..share("projected_lucrativity", "the forecast of profitability") },
    measured("discrepancy_count", "", "what does not fit together"),
    share("coverage", "lines that calls reached, of those that can be executed"),
];

/// A metric by its name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// Whether a metric can have a value. `synergy_…` is the difference of two; of an extra metric nothing is known but that it is
/// a number.
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
    fn a_metric_is_where_it_can_be() {
        assert!(is_possible("reliability", 1.0) && !is_possible("reliability", 1.01));
        assert!(is_possible("profitability", -9.0) && !is_possible("recovery_time", -0.1));
        assert!(is_possible("synergy_reliability", -0.4) && !is_possible("synergy_reliability", -1.4));
        assert!(is_possible("of_a_plugin", -3.0) && !is_possible("of_a_plugin", f64::NAN));
    }
}
