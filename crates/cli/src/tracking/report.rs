//! What a cycle says.

use std::collections::BTreeMap;

use menace_runner::RunReport;
use menace_store::MetricRecord;
use menace_tracker::roi::{PilotStatus, RiskAdjustedRoi};
use menace_tracker::workflows::Discrepancy;
use serde::Serialize;

use super::forecasts::ForecastReport;
use crate::calling::now_ms;

/// What a cycle says, as people and programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct CycleReport {
    /// Counted from 1.
    pub(crate) cycle: usize,
    /// The ROI of the repository; nothing if nothing could be measured.
    pub(crate) roi: Option<f64>,
    /// Its change.
    pub(crate) delta: Option<f64>,
    /// Metrics of the repository.
    pub(crate) metrics: BTreeMap<String, f64>,
    /// Metrics that could not be measured, and why.
    pub(crate) unavailable: BTreeMap<&'static str, &'static str>,
    /// How energy was measured.
    pub(crate) energy_source: &'static str,
    /// Modules, the most worth first.
    pub(crate) modules: Vec<CycleModuleRow>,
    /// Scenarios.
    pub(crate) scenarios: Vec<CycleScenarioRow>,
    /// What comes next.
    pub(crate) forecast: Option<ForecastReport>,
    /// What does not fit together.
    pub(crate) discrepancies: Vec<Discrepancy>,
    /// What little is, in this cycle.
    pub(crate) roi_threshold: f64,
    pub(crate) synergy_threshold: f64,
    /// Whether all modules are complete.
    pub(crate) converged: bool,
    /// What could not be taken into the history.
    pub(crate) problems: Vec<String>,
}

/// A module.
#[derive(Debug, Serialize)]
pub(crate) struct CycleModuleRow {
    pub(crate) module: String,
    #[serde(flatten)]
    pub(crate) raroi: RiskAdjustedRoi,
    pub(crate) delta: Option<f64>,
    pub(crate) confidence: Option<f64>,
    pub(crate) needs_review: bool,
    pub(crate) vetoes: Vec<String>,
    pub(crate) missing: Vec<&'static str>,
    /// The metric that costs most, and what to do about it.
    pub(crate) weakest: Option<WeakestMetric>,
    pub(crate) scenarios: BTreeMap<String, f64>,
    pub(crate) metrics: BTreeMap<&'static str, f64>,
    pub(crate) unavailable: BTreeMap<&'static str, &'static str>,
    pub(crate) borderline: Option<PilotStatus>,
    pub(crate) complete: Option<String>,
}

/// The metric that costs most.
#[derive(Debug, Serialize)]
pub(crate) struct WeakestMetric {
    pub(crate) metric: &'static str,
    pub(crate) value: f64,
    pub(crate) hint: String,
}

/// A scenario.
#[derive(Debug, Serialize)]
pub(crate) struct CycleScenarioRow {
    pub(crate) scenario: String,
    pub(crate) roi: f64,
    pub(crate) delta: Option<f64>,
}

/// A row for every value of a cycle.
pub(super) fn records(report: &RunReport, found: &CycleReport) -> Vec<MetricRecord> {
    let run = report.run.as_ref().map_or_else(String::new, ToString::to_string);
    let (cycle, at_ms) = (found.cycle as u64, now_ms());
    let record = |module: &str, scenario: &str, name: &str, value: f64| MetricRecord {
        run: run.clone(),
        cycle,
        at_ms,
        module: module.to_owned(),
        scenario: scenario.to_owned(),
        name: name.to_owned(),
        value,
    };
    let mut all: Vec<MetricRecord> = found.roi.iter().map(|roi| record("", "", "roi", *roi)).collect();
    all.extend(found.metrics.iter().map(|(name, value)| record("", "", name, *value)));
    all.extend(found.scenarios.iter().map(|row| record("", &row.scenario, "roi", row.roi)));
    for row in &found.modules {
        all.push(record(&row.module, "", "roi", row.raroi.roi));
        all.push(record(&row.module, "", "raroi", row.raroi.raroi));
        all.extend(row.metrics.iter().map(|(name, value)| record(&row.module, "", name, *value)));
        all.extend(row.scenarios.iter().map(|(scenario, roi)| record(&row.module, scenario, "roi", *roi)));
    }
    all
}
