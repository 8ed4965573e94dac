//! Metrics of all cycles of a repository: `roi_history.json`.

mod merge;
mod rankings;
mod read;

#[cfg(test)]
mod history_tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::forecast::{Forecast, ForecastAccuracy, ForecastModel, ForecastRequest, ForecastValue, forecast};
use crate::metrics::is_possible;

pub use merge::{HistoryPart, merged};
pub use rankings::{
    ScenarioRank, SynergySummary, rank_scenario_synergy, rank_scenarios, rank_synergy, summarise_synergy,
};
pub use read::{HistoryError, read};

/// Version of the file format.
pub const VERSION: u32 = 1;

/// Metrics of all cycles. A series has one entry per cycle since its first; `None` where the metric was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoiHistory {
    /// Version of the file format.
    pub version: u32,
    /// The cycles.
    pub cycles: Vec<CycleHeader>,
    /// The ROI of the repository.
    pub roi_levels: Vec<f64>,
    /// Changes of the repository's ROI.
    pub roi_history: Vec<f64>,
    /// Modules by path.
    pub modules: BTreeMap<String, HistorySeries>,
    /// Scenarios by name.
    pub scenarios: BTreeMap<String, HistorySeries>,
    /// Metrics of the repository.
    pub metrics_history: BTreeMap<String, Vec<Option<f64>>>,
    /// Forecast of the ROI for each cycle.
    pub predicted_roi: Vec<Option<ForecastValue>>,
    /// Forecasts of metrics for each cycle.
    pub predicted_metrics: BTreeMap<String, Vec<Option<ForecastValue>>>,
    /// Measurements of the synergy of workflows: `synergy_roi`, `synergy_reliability`, …
    pub synergy_history: Vec<BTreeMap<String, f64>>,
    /// Measurements of synergy by scenario.
    pub scenario_synergy: BTreeMap<String, Vec<BTreeMap<String, f64>>>,
    /// Lowest CPU time of a successful call, per section, in milliseconds.
    pub best_cpu_ms: BTreeMap<String, f64>,
    /// Complete modules, with the reason.
    pub complete: BTreeMap<String, String>,
    /// Forecast models chosen per metric, so that the search is not repeated each time.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ForecastModelChoice>,
    /// The repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

/// A chosen forecast model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForecastModelChoice {
    /// The model.
    pub model: ForecastModel,
    /// Length of the series when it was chosen.
    pub values: usize,
}

/// Number of new values after which a model is chosen again.
const CHOICE_HOLDS: usize = 5;

/// Time and run of a cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleHeader {
    /// Number, from 1.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The run.
    pub run: String,
    /// Problem with its time stamp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Series of a module or a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistorySeries {
    /// Its ROI.
    pub levels: Vec<f64>,
    /// Its changes.
    pub deltas: Vec<f64>,
    /// Its risk-adjusted ROI.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub raroi: Vec<f64>,
    /// Its ROI under scenarios.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scenarios: BTreeMap<String, Vec<f64>>,
    /// Its metrics.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, Vec<Option<f64>>>,
    /// The entropy of its code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entropy: Vec<f64>,
}

/// Measurements of one cycle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CycleMeasurements {
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The run.
    pub run: String,
    /// ROI of the repository; `None` if it could not be measured.
    pub roi: Option<f64>,
    /// Modules.
    pub modules: Vec<HistorySample>,
    /// Scenarios.
    pub scenarios: Vec<HistorySample>,
    /// Metrics of the repository.
    pub metrics: BTreeMap<String, f64>,
    /// Forecast of the ROI, made before the cycle.
    pub predicted_roi: Option<ForecastValue>,
    /// Forecasts of metrics, made before the cycle.
    pub predicted_metrics: BTreeMap<String, ForecastValue>,
}

/// Measurements of a module or a scenario in one cycle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistorySample {
    /// Its path or name.
    pub name: String,
    /// Its ROI.
    pub roi: f64,
    /// Its risk-adjusted ROI.
    pub raroi: Option<f64>,
    /// Its ROI under scenarios.
    pub scenarios: Vec<(String, f64)>,
    /// Its metrics.
    pub metrics: BTreeMap<String, f64>,
    /// The entropy of its code.
    pub entropy: Option<f64>,
}

impl Default for RoiHistory {
    fn default() -> Self {
        Self {
            version: VERSION,
            cycles: Vec::new(),
            roi_levels: Vec::new(),
            roi_history: Vec::new(),
            modules: BTreeMap::new(),
            scenarios: BTreeMap::new(),
            metrics_history: BTreeMap::new(),
            predicted_roi: Vec::new(),
            predicted_metrics: BTreeMap::new(),
            synergy_history: Vec::new(),
            scenario_synergy: BTreeMap::new(),
            best_cpu_ms: BTreeMap::new(),
            complete: BTreeMap::new(),
            models: BTreeMap::new(),
            repository: None,
        }
    }
}

impl RoiHistory {
    /// Appends a cycle. Impossible values are left out and returned as problems.
    pub fn update(&mut self, cycle: CycleMeasurements) -> Vec<String> {
        let mut problems = Vec::new();
        let before = self.cycles.last();
        let at_ms = match before {
            Some(last) if cycle.at_ms < last.at_ms => {
                problems.push("clock moved backwards: the cycle gets the time of the last one".to_owned());
                last.at_ms
            }
            _ => cycle.at_ms,
        };
        let number = before.map_or(1, |last| last.number + 1);
        self.cycles.push(CycleHeader { number, at_ms, run: cycle.run, note: problems.first().cloned() });
        match cycle.roi.filter(|roi| roi.is_finite()) {
            Some(roi) => {
                push_level(&mut self.roi_levels, &mut self.roi_history, roi);
                self.predicted_roi.push(cycle.predicted_roi);
            }
            None => problems.push("the ROI of this cycle could not be measured".to_owned()),
        }
        for (place, all) in [(&mut self.modules, cycle.modules), (&mut self.scenarios, cycle.scenarios)] {
            for measured in all {
                push_sample(place, measured, &mut problems);
            }
        }
        let length = self.cycles.len();
        push_metrics(&mut self.metrics_history, cycle.metrics, length, &mut problems);
        push_predictions(&mut self.predicted_metrics, cycle.predicted_metrics, length);
        problems
    }

    /// Appends a measurement of synergy: overall and per scenario.
    pub fn add_synergy(
        &mut self,
        mut overall: BTreeMap<String, f64>,
        scenarios: BTreeMap<String, BTreeMap<String, f64>>,
    ) {
        overall.retain(|name, value| is_possible(name, *value));
        if !overall.is_empty() {
            self.synergy_history.push(overall);
        }
        for (scenario, mut synergy) in scenarios {
            synergy.retain(|name, value| is_possible(name, *value));
            if !synergy.is_empty() {
                self.scenario_synergy.entry(scenario).or_default().push(synergy);
            }
        }
    }

    /// Measured values of a metric of the repository; `roi` is its ROI, `synergy_…` the synergy of workflows.
    pub fn series(&self, metric: &str) -> Vec<f64> {
        if metric == "roi" {
            return self.roi_levels.clone();
        }
        if metric.starts_with("synergy_") {
            return self.synergy_history.iter().filter_map(|synergy| synergy.get(metric).copied()).collect();
        }
        self.metrics_history.get(metric).into_iter().flatten().filter_map(|value| *value).collect()
    }

    /// Forecast of the next value of a metric, with covariates; reuses the chosen model if it is recent. `None` if no
    /// forecast is possible.
    pub fn forecast_next(&self, metric: &str, beside: &[Vec<f64>]) -> Option<Forecast> {
        let series = self.series(metric);
        let holds = |known: &&ForecastModelChoice| series.len() < known.values + CHOICE_HOLDS;
        let known = self.models.get(metric).filter(holds).map(|known| known.model);
        forecast(&ForecastRequest { beside, known, ..ForecastRequest::next(&series) }).ok()
    }

    /// Stores the models of new forecasts for reuse.
    pub fn store_models<'name>(&mut self, made: impl IntoIterator<Item = (&'name str, ForecastModel)>) {
        for (metric, model) in made {
            let values = self.series(metric).len();
            let is_new = |known: &ForecastModelChoice| values >= known.values + CHOICE_HOLDS;
            if values > CHOICE_HOLDS && self.models.get(metric).is_none_or(is_new) {
                self.models.insert(metric.to_owned(), ForecastModelChoice { model, values });
            }
        }
    }

    /// Accuracy of the recorded forecasts, compared with the previous value as forecast; the first one has no previous
    /// value and is left out.
    pub fn forecast_accuracy(&self, metric: &str) -> ForecastAccuracy {
        let mut past = ForecastAccuracy::default();
        for pair in self.forecasts(metric).windows(2) {
            past.add(&pair[1].0, pair[1].1, pair[0].1);
        }
        past
    }

    /// Recorded forecasts and actual values, for each cycle that has both.
    pub fn forecasts(&self, metric: &str) -> Vec<(ForecastValue, f64)> {
        let pair = |(expected, came): (&Option<ForecastValue>, Option<f64>)| Some(((*expected)?, came?));
        if metric == "roi" {
            let came = self.roi_levels.iter().map(|level| Some(*level));
            return self.predicted_roi.iter().zip(came).filter_map(pair).collect();
        }
        let expected = self.predicted_metrics.get(metric).map_or(&[][..], Vec::as_slice);
        let came = self.metrics_history.get(metric).map_or(&[][..], Vec::as_slice);
        expected.iter().zip(came.iter().copied()).filter_map(pair).collect()
    }
}

fn push_level(levels: &mut Vec<f64>, deltas: &mut Vec<f64>, level: f64) {
    deltas.push(levels.last().map_or(0.0, |before| level - before));
    levels.push(level);
}

fn push_sample(
    place: &mut BTreeMap<String, HistorySeries>,
    measured: HistorySample,
    problems: &mut Vec<String>,
) {
    if !measured.roi.is_finite() {
        problems.push(format!("the ROI of {} is not a number", measured.name));
        return;
    }
    let tracked = place.entry(measured.name).or_default();
    push_level(&mut tracked.levels, &mut tracked.deltas, measured.roi);
    tracked.raroi.extend(measured.raroi.filter(|raroi| raroi.is_finite()));
    tracked.entropy.extend(measured.entropy.filter(|entropy| entropy.is_finite()));
    for (scenario, roi) in measured.scenarios {
        if roi.is_finite() {
            tracked.scenarios.entry(scenario).or_default().push(roi);
        }
    }
    let length = tracked.levels.len();
    push_metrics(&mut tracked.metrics, measured.metrics, length, problems);
}

/// Appends the value of this cycle to every series, `None` where there is none.
fn push_metrics(
    place: &mut BTreeMap<String, Vec<Option<f64>>>,
    metrics: BTreeMap<String, f64>,
    length: usize,
    problems: &mut Vec<String>,
) {
    for (name, value) in metrics {
        if is_possible(&name, value) {
            let series = place.entry(name).or_default();
            series.resize(length - 1, None);
            series.push(Some(value));
        } else {
            problems.push(format!("{name} is out of range: {value}"));
        }
    }
    for series in place.values_mut().filter(|series| series.len() < length) {
        series.resize(length, None);
    }
}

fn push_predictions(
    place: &mut BTreeMap<String, Vec<Option<ForecastValue>>>,
    predictions: BTreeMap<String, ForecastValue>,
    length: usize,
) {
    for (name, expected) in predictions {
        let series = place.entry(name).or_default();
        series.resize(length - 1, None);
        series.push(Some(expected));
    }
    for series in place.values_mut().filter(|series| series.len() < length) {
        series.resize(length, None);
    }
}
