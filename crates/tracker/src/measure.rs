//! Metrics from the outcomes of calls. A metric that could not be measured has a reason and no number.

use std::collections::{BTreeMap, BTreeSet};

use crate::economics::{CallResourceUsage, ResourcePrices};
use crate::statistics::{mean, median};

/// Measurements of a cell: one section under one scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ObservedCell {
    /// `module:qualname`.
    pub section: String,
    /// Scenario, with its severity.
    pub scenario: String,
    /// Kind of stress.
    pub kind: CellKind,
    /// Calls that count.
    pub n: usize,
    /// Successful calls of these.
    pub ended_well: usize,
    /// Flaky calls of these.
    pub flaky: usize,
    /// Calls of these that tried a denied operation.
    pub denied: usize,
    /// CPU time.
    pub cpu_seconds: Option<f64>,
    /// Memory × time.
    pub gb_seconds: Option<f64>,
    /// Median CPU time of calls that returned.
    pub cpu_ms_of_ok: Option<f64>,
    /// Successful calls per second.
    pub throughput: Option<f64>,
    /// Median time to the first byte.
    pub network_latency_ms: Option<f64>,
    /// Success before and after a fault, and the time to recovery.
    pub recovery: Option<ObservedRecovery>,
    /// Kinds of input that were offered, and that were handled.
    pub shapes: (usize, usize),
}

/// Kind of stress applied to the calls of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CellKind {
    /// No stress.
    #[default]
    Ordinary,
    /// Hostile arguments.
    Hostile,
    /// Wrong calls.
    Misuse,
    /// Any other fault.
    Fault,
}

impl ObservedCell {
    fn is(&self, kind: CellKind) -> bool {
        self.kind == kind
    }
}

/// Recovery from a fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObservedRecovery {
    /// Share of successful calls before the fault.
    pub before: f64,
    /// Share of successful calls after the fault.
    pub after: Option<f64>,
    /// Time from the end of the fault to the first successful call.
    pub seconds: Option<f64>,
}

/// Static metrics of the code.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StaticCodeMetrics {
    /// Between 0 and 1.
    pub maintainability: Option<f64>,
    /// Between 0 and 1.
    pub code_quality: Option<f64>,
    /// Between 0 and 1.
    pub security_score: Option<f64>,
    /// Bits per token.
    pub entropy: Option<f64>,
    /// Share of lines changed in thirty days.
    pub churn: Option<f64>,
}

/// Prices and power of calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallEconomics {
    /// Prices.
    pub prices: ResourcePrices,
    /// Power of one busy core in watts: measured, or from the settings.
    pub watts: f64,
}

/// Metrics, and the reasons for missing ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasuredMetrics {
    /// Measured metrics.
    pub metrics: BTreeMap<&'static str, f64>,
    /// Metrics that could not be measured, each with the reason.
    pub unavailable: BTreeMap<&'static str, &'static str>,
}

impl MeasuredMetrics {
    fn note(&mut self, name: &'static str, value: Option<f64>, reason: &'static str) {
        match value.filter(|value| value.is_finite()) {
            Some(value) => drop(self.metrics.insert(name, value)),
            None => drop(self.unavailable.insert(name, reason)),
        }
    }

    /// Value of a metric.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }
}

/// A module counts as adapted to a scenario if its robustness is at least this share of its baseline robustness.
const ADAPTED: f64 = 0.9;

/// Computes the metrics of a module, a scenario or the whole run. `best_cpu_ms` is the lowest CPU time of a call so far,
/// per section.
pub fn measure(
    cells: &[&ObservedCell],
    code: &StaticCodeMetrics,
    economy: &CallEconomics,
    best_cpu_ms: &BTreeMap<String, f64>,
) -> MeasuredMetrics {
    let mut found = MeasuredMetrics::default();
    let ordinary = robustness(cells.iter().filter(|cell| cell.is(CellKind::Ordinary)));
    let under_faults = by_scenario(cells);
    found.note("reliability", ordinary, "no baseline call counts");
    let share_of_ordinary = |robustness: f64| {
        ordinary.filter(|ordinary| *ordinary > 0.0).map(|ordinary| (robustness / ordinary).min(1.0))
    };
    let shares: Option<Vec<f64>> =
        under_faults.values().map(|robustness| share_of_ordinary(*robustness)).collect();
    found.note(
        "resilience",
        shares.as_deref().and_then(mean),
        "no fault fired, or no baseline call succeeded",
    );
    let adapted = ordinary.filter(|_| !under_faults.is_empty()).map(|ordinary| {
        let well = under_faults.values().filter(|robustness| **robustness >= ADAPTED * ordinary).count();
        well as f64 / under_faults.len() as f64
    });
    found.note("adaptability", adapted, "no fault fired");
    add_recovery_metrics(&mut found, cells);
    let (offered, handled) =
        cells.iter().fold((0, 0), |sum, cell| (sum.0 + cell.shapes.0, sum.1 + cell.shapes.1));
    let flexibility = (offered > 0).then(|| handled as f64 / offered as f64);
    found.note("flexibility", flexibility, "no call counts");
    found.note("efficiency", efficiency(cells, best_cpu_ms), "no CPU time of a baseline call that returned");
    let bursts: Vec<f64> = cells.iter().filter_map(|cell| cell.throughput).collect();
    found.note("throughput", mean(&bursts), "no concurrent calls were made");
    let latencies: Vec<f64> = cells.iter().filter_map(|cell| cell.network_latency_ms).collect();
    found.note("network_latency", median(&latencies), "no call got a network response");
    add_economy_metrics(&mut found, cells, economy);
    found.note("shannon_entropy", code.entropy, "the file could not be read");
    found.note("maintainability", code.maintainability, "the file does not parse");
    found.note("code_quality", code.code_quality, "the file does not parse");
    found.note("security_score", code.security_score, "the file does not parse");
    found.note("safety_rating", safety_rating(cells), "no hostile or misuse call counts");
    found.note("risk_index", risk_index(code, cells), "the file does not parse, or no call counts");
    found.note("patch_complexity", None, "no patch was made");
    found
}

/// Mean share of successful calls over cells.
pub fn robustness<'cell, 'all: 'cell>(cells: impl Iterator<Item = &'cell &'all ObservedCell>) -> Option<f64> {
    let all: Vec<f64> =
        cells.filter(|cell| cell.n > 0).map(|cell| cell.ended_well as f64 / cell.n as f64).collect();
    mean(&all)
}

/// Failures per hundred hostile and wrong calls.
pub fn failures_of_100(cells: &[&ObservedCell]) -> f64 {
    let meant = cells.iter().filter(|cell| matches!(cell.kind, CellKind::Hostile | CellKind::Misuse));
    let (n, well) = meant.fold((0, 0), |sum, cell| (sum.0 + cell.n, sum.1 + cell.ended_well));
    if n == 0 { 0.0 } else { 100.0 * (n - well) as f64 / n as f64 }
}

/// Weighted mean of churn, poor maintainability and failures. Without a git history the weight of churn is spread over the
/// others, as in a scan.
fn risk_index(code: &StaticCodeMetrics, cells: &[&ObservedCell]) -> Option<f64> {
    let others = 0.4 * (1.0 - code.maintainability?) + 0.4 * (1.0 - robustness(cells.iter())?);
    Some(code.churn.map_or(others / 0.8, |churn| 0.2 * churn + others))
}

fn by_scenario(cells: &[&ObservedCell]) -> BTreeMap<String, f64> {
    let names: BTreeSet<&str> = cells
        .iter()
        .filter(|cell| !cell.is(CellKind::Ordinary) && cell.n > 0)
        .map(|cell| cell.scenario.as_str())
        .collect();
    let of = |name: &str| robustness(cells.iter().filter(|cell| cell.scenario == name));
    names.into_iter().filter_map(|name| Some((name.to_owned(), of(name)?))).collect()
}

fn add_recovery_metrics(found: &mut MeasuredMetrics, cells: &[&ObservedCell]) {
    let windows: Vec<&ObservedRecovery> = cells.iter().filter_map(|cell| cell.recovery.as_ref()).collect();
    let times: Vec<f64> = windows.iter().filter_map(|window| window.seconds).collect();
    let reason = "no call was repeated across a fault and succeeded after it";
    found.note("recovery_time", median(&times), reason);
    let gains: Vec<f64> = windows.iter().filter_map(|window| Some(window.after? - window.before)).collect();
    found.note("antifragility", mean(&gains).map(|gain| gain.clamp(0.0, 1.0)), reason);
}

/// Mean over sections of best CPU time so far / CPU time now.
fn efficiency(cells: &[&ObservedCell], best_cpu_ms: &BTreeMap<String, f64>) -> Option<f64> {
    let ordinary = cells.iter().filter(|cell| cell.is(CellKind::Ordinary));
    let shares: Vec<f64> = ordinary
        .filter_map(|cell| {
            let now = cell.cpu_ms_of_ok.filter(|now| *now > 0.0)?;
            let best = best_cpu_ms.get(&cell.section).copied().unwrap_or(now);
            Some((best / now).min(1.0))
        })
        .collect();
    mean(&shares)
}

fn add_economy_metrics(found: &mut MeasuredMetrics, cells: &[&ObservedCell], economy: &CallEconomics) {
    let sum = |value: fn(&ObservedCell) -> Option<f64>| -> Option<f64> {
        let counted = cells.iter().filter(|cell| cell.n > 0);
        counted.map(|cell| value(cell)).sum()
    };
    let cpu_seconds = sum(|cell| cell.cpu_seconds);
    let taken =
        cpu_seconds.zip(sum(|cell| cell.gb_seconds)).map(|(cpu_seconds, gb_seconds)| CallResourceUsage {
            calls: cells.iter().map(|cell| cell.n).sum(),
            ended_well: cells.iter().map(|cell| cell.ended_well).sum(),
            cpu_seconds,
            gb_seconds,
        });
    let reason = "no call counts, or the usage of calls could not be measured";
    let has_calls = cells.iter().any(|cell| cell.n > 0);
    found.note(
        "energy_consumption",
        cpu_seconds.filter(|_| has_calls).map(|seconds| seconds * economy.watts),
        reason,
    );
    let revenue =
        taken.filter(|_| has_calls).map(|taken| taken.ended_well as f64 * economy.prices.value_per_call);
    found.note("revenue", revenue, reason);
    found.note("profitability", taken.and_then(|taken| economy.prices.profitability(&taken)), reason);
}

fn safety_rating(cells: &[&ObservedCell]) -> Option<f64> {
    let meant = cells.iter().filter(|cell| matches!(cell.kind, CellKind::Hostile | CellKind::Misuse));
    let (n, safe) =
        meant.fold((0, 0), |sum, cell| (sum.0 + cell.n, sum.1 + cell.ended_well.min(cell.n - cell.denied)));
    (n > 0).then(|| safe as f64 / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECONOMY: CallEconomics = CallEconomics {
        prices: ResourcePrices { value_per_call: 1.0, per_cpu_second: 0.1, per_gb_second: 0.0 },
        watts: 10.0,
    };

    fn cell(scenario: &str, n: usize, ended_well: usize) -> ObservedCell {
        ObservedCell {
            section: "m:f".into(),
            scenario: scenario.into(),
            kind: match scenario {
                "normal" => CellKind::Ordinary,
                "hostile_input" => CellKind::Hostile,
                _ => CellKind::Fault,
            },
            n,
            ended_well,
            cpu_seconds: Some(0.5),
            gb_seconds: Some(0.1),
            cpu_ms_of_ok: Some(20.0),
            shapes: (2, 1),
            ..ObservedCell::default()
        }
    }

    fn of(cells: &[ObservedCell]) -> MeasuredMetrics {
        let best = BTreeMap::from([("m:f".to_owned(), 10.0)]);
        measure(&cells.iter().collect::<Vec<_>>(), &StaticCodeMetrics::default(), &ECONOMY, &best)
    }

    #[track_caller]
    fn is(found: &MeasuredMetrics, name: &str, expected: f64) {
        let value = found.get(name).unwrap();
        assert!((value - expected).abs() < 1e-12, "{name} is {value}, not {expected}");
    }

    #[test]
    fn every_metric_matches_its_definition() {
        let mut found =
            of(&[cell("normal", 10, 8), cell("hostile_input", 10, 4), cell("schema_drift", 4, 4)]);
        is(&found, "reliability", 0.8);
        is(&found, "resilience", 0.75);
        is(&found, "adaptability", 0.5);
        is(&found, "efficiency", 0.5);
        is(&found, "flexibility", 0.5);
        is(&found, "safety_rating", 0.4);
        is(&found, "energy_consumption", 15.0);
        is(&found, "revenue", 16.0);
        is(&found, "profitability", (16.0 - 0.15) / 24.0);
        let recovered = ObservedRecovery { before: 0.5, after: Some(0.75), seconds: Some(0.2) };
        found = of(&[ObservedCell { recovery: Some(recovered), ..cell("normal", 1, 1) }]);
        is(&found, "recovery_time", 0.2);
        is(&found, "antifragility", 0.25);
    }

    #[test]
    fn the_risk_index_uses_the_measured_terms() {
        let cells = [cell("normal", 10, 5)];
        let risk = |churn| {
            let code =
                StaticCodeMetrics { maintainability: Some(0.5), churn, ..StaticCodeMetrics::default() };
            measure(&cells.iter().collect::<Vec<_>>(), &code, &ECONOMY, &BTreeMap::new())
                .get("risk_index")
                .unwrap()
        };
        assert!((risk(Some(1.0)) - 0.6).abs() < 1e-12 && (risk(None) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn unmeasured_metrics_have_a_reason_and_no_number() {
        let found = of(&[]);
        assert!(found.metrics.is_empty(), "{:?}", found.metrics);
        assert!(found.unavailable.len() >= 18, "{:?}", found.unavailable);
        let unmeasured = of(&[ObservedCell { cpu_seconds: None, ..cell("normal", 2, 2) }]);
        for name in ["profitability", "energy_consumption", "resilience", "throughput"] {
            assert!(unmeasured.unavailable.contains_key(name), "{name}");
        }
        let denied = of(&[ObservedCell { denied: 3, ..cell("hostile_input", 4, 4) }]);
        is(&denied, "safety_rating", 0.25);
    }
}
