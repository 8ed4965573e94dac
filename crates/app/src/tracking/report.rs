//! Report of a cycle.

use std::collections::BTreeMap;

use menace_runner::RunReport;
use menace_store::MetricRecord;
use menace_tracker::roi::{PilotStatus, RiskAdjustedRoi};
use menace_tracker::workflows::Discrepancy;
use serde::Serialize;

use super::forecasts::ForecastReport;
use crate::calling::now_ms;

/// Report of a cycle.
#[derive(Debug, Serialize)]
pub struct CycleReport {
    /// Number of the cycle, from 1.
    pub cycle: usize,
    /// ROI of the repository; `None` if it could not be measured.
    pub roi: Option<f64>,
    /// Difference to the previous cycle.
    pub delta: Option<f64>,
    /// Metrics of the repository.
    pub metrics: BTreeMap<String, f64>,
    /// Metrics that could not be measured, with the reason.
    pub unavailable: BTreeMap<&'static str, &'static str>,
    /// Source of the energy measurement.
    pub energy_source: &'static str,
    /// Modules, highest rank first.
    pub modules: Vec<CycleModuleRow>,
    /// Scenarios.
    pub scenarios: Vec<CycleScenarioRow>,
    /// Forecast of the ROI of the next cycle.
    pub forecast: Option<ForecastReport>,
    /// Inconsistencies between records.
    pub discrepancies: Vec<Discrepancy>,
    /// ROI threshold of diminishing returns.
    pub roi_threshold: f64,
    /// Threshold of synergy.
    pub synergy_threshold: f64,
    /// Whether all modules are complete.
    pub converged: bool,
    /// Values that were not added to the history.
    pub problems: Vec<String>,
}

/// A module in a cycle.
#[derive(Debug, Serialize)]
pub struct CycleModuleRow {
    /// Path of the module.
    pub module: String,
    /// Risk-adjusted ROI.
    #[serde(flatten)]
    pub raroi: RiskAdjustedRoi,
    /// Difference to the previous cycle.
    pub delta: Option<f64>,
    /// Confidence from recent forecasts.
    pub confidence: Option<f64>,
    /// Whether the confidence is too low for an automatic decision.
    pub needs_review: bool,
    /// Vetoes of the profile that apply.
    pub vetoes: Vec<String>,
    /// Metrics of the profile that are missing.
    pub missing: Vec<&'static str>,
    /// The metric that lowers the ROI most, with a hint.
    pub weakest: Option<WeakestMetric>,
    /// ROI by scenario.
    pub scenarios: BTreeMap<String, f64>,
    /// Metrics by name.
    pub metrics: BTreeMap<&'static str, f64>,
    /// Metrics that could not be measured, with the reason.
    pub unavailable: BTreeMap<&'static str, &'static str>,
    /// State in the borderline bucket.
    pub borderline: Option<PilotStatus>,
    /// Reason why the module is complete.
    pub complete: Option<String>,
}

/// The metric that lowers the ROI most.
#[derive(Debug, Serialize)]
pub struct WeakestMetric {
    /// Name of the metric.
    pub metric: &'static str,
    /// Value of the metric.
    pub value: f64,
    /// Hint on how to improve it.
    pub hint: String,
}

/// A scenario in a cycle.
#[derive(Debug, Serialize)]
pub struct CycleScenarioRow {
    /// Name of the scenario.
    pub scenario: String,
    /// ROI.
    pub roi: f64,
    /// Difference to the previous cycle.
    pub delta: Option<f64>,
}

/// Database records of all values of a cycle.
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
