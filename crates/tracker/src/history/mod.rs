//! What all cycles measured: `roi_history.json`.

mod merge;
mod questions;
mod read;

#[cfg(test)]
mod history_tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::forecast::{Expected, Forecast, Model, Past, Question, forecast};
use crate::metrics::is_possible;

pub use merge::{Part, merged};
pub use questions::{
    ScenarioRank, SynergySummary, rank_scenario_synergy, rank_scenarios, rank_synergy, summarise_synergy,
};
pub use read::{HistoryError, read};

/// The version of the file.
pub const VERSION: u32 = 1;

/// All cycles. Every series has one value for each cycle since it began; where something was not measured, there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// The version of this layout.
    pub version: u32,
    /// The cycles.
    pub cycles: Vec<CycleMark>,
    /// The ROI of the repository.
    pub roi_levels: Vec<f64>,
    /// Its changes.
    pub roi_history: Vec<f64>,
    /// Modules by their paths.
    pub modules: BTreeMap<String, Tracked>,
    /// Scenarios by their names.
    pub scenarios: BTreeMap<String, Tracked>,
    /// Metrics of the repository.
    pub metrics_history: BTreeMap<String, Vec<Option<f64>>>,
    /// What was expected of the ROI, cycle by cycle.
    pub predicted_roi: Vec<Option<Expected>>,
    /// What was expected of metrics.
    pub predicted_metrics: BTreeMap<String, Vec<Option<Expected>>>,
    /// Synergy of workflows, as often as it was measured: `synergy_roi`, `synergy_reliability`, …
    pub synergy_history: Vec<BTreeMap<String, f64>>,
    /// The same under scenarios.
    pub scenario_synergy: BTreeMap<String, Vec<BTreeMap<String, f64>>>,
    /// The least CPU time of a call that ended well, for each section, in milliseconds.
    pub best_cpu_ms: BTreeMap<String, f64>,
    /// Modules that are complete, and why.
    pub complete: BTreeMap<String, String>,
    /// The models that were chosen for forecasts, so that they need not be looked for each time.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, KnownModel>,
    /// The repository that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

/// A model that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KnownModel {
    /// Which.
    pub model: Model,
    /// How many values there were.
    pub values: usize,
}

/// A choice is made again after so many more values.
const CHOICE_HOLDS: usize = 5;

/// When a cycle was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleMark {
    /// Counted from 1.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The run.
    pub run: String,
    /// What was odd about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A module or a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tracked {
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

/// What a cycle measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cycle {
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The run.
    pub run: String,
    /// The ROI of the repository; nothing if none could be measured.
    pub roi: Option<f64>,
    /// Modules.
    pub modules: Vec<Measured>,
    /// Scenarios.
    pub scenarios: Vec<Measured>,
    /// Metrics of the repository.
    pub metrics: BTreeMap<String, f64>,
    /// What was expected of the ROI before.
    pub predicted_roi: Option<Expected>,
    /// What was expected of metrics before.
    pub predicted_metrics: BTreeMap<String, Expected>,
}

/// What a cycle measured of a module or a scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Its path or name.
    pub name: String,
    /// Its ROI.
    pub roi: f64,
    /// With its risks.
    pub raroi: Option<f64>,
    /// Its ROI under scenarios.
    pub scenarios: Vec<(String, f64)>,
    /// Its metrics.
    pub metrics: BTreeMap<String, f64>,
    /// The entropy of its code.
    pub entropy: Option<f64>,
}

impl Default for History {
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

impl History {
    /// Takes a cycle. What cannot be is left out and said.
    pub fn update(&mut self, cycle: Cycle) -> Vec<String> {
        let mut problems = Vec::new();
        let before = self.cycles.last();
        let at_ms = match before {
            Some(last) if cycle.at_ms < last.at_ms => {
                problems
                    .push("the clock went back: the cycle is noted at the time of the one before".to_owned());
                last.at_ms
            }
            _ => cycle.at_ms,
        };
        let number = before.map_or(1, |last| last.number + 1);
        self.cycles.push(CycleMark { number, at_ms, run: cycle.run, note: problems.first().cloned() });
        match cycle.roi.filter(|roi| roi.is_finite()) {
            Some(roi) => {
                push_level(&mut self.roi_levels, &mut self.roi_history, roi);
                self.predicted_roi.push(cycle.predicted_roi);
            }
            None => problems.push("the ROI of this cycle could not be measured".to_owned()),
        }
        for (place, all) in [(&mut self.modules, cycle.modules), (&mut self.scenarios, cycle.scenarios)] {
            for measured in all {
                note(place, measured, &mut problems);
            }
        }
        let length = self.cycles.len();
        push_metrics(&mut self.metrics_history, cycle.metrics, length, &mut problems);
        push_predictions(&mut self.predicted_metrics, cycle.predicted_metrics, length);
        problems
    }

    /// Notes synergy that was measured: over everything, and under each scenario.
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

    /// A metric of the repository, as often as it was measured; `roi` is its ROI, `synergy_…` that of workflows.
    pub fn series(&self, metric: &str) -> Vec<f64> {
        if metric == "roi" {
            return self.roi_levels.clone();
        }
        if metric.starts_with("synergy_") {
            return self.synergy_history.iter().filter_map(|synergy| synergy.get(metric).copied()).collect();
        }
        self.metrics_history.get(metric).into_iter().flatten().filter_map(|value| *value).collect()
    }

    /// What comes next in a metric, with what was seen beside it; by the model that was chosen before, if that is not long
    /// ago. Nothing if there is nothing to say.
    pub fn next(&self, metric: &str, beside: &[Vec<f64>]) -> Option<Forecast> {
        let series = self.series(metric);
        let holds = |known: &&KnownModel| series.len() < known.values + CHOICE_HOLDS;
        let known = self.models.get(metric).filter(holds).map(|known| known.model);
        forecast(&Question { beside, known, ..Question::next(&series) }).ok()
    }

    /// Remembers the models of forecasts that were just made.
    pub fn remember<'name>(&mut self, made: impl IntoIterator<Item = (&'name str, Model)>) {
        for (metric, model) in made {
            let values = self.series(metric).len();
            let is_new = |known: &KnownModel| values >= known.values + CHOICE_HOLDS;
            if values > CHOICE_HOLDS && self.models.get(metric).is_none_or(is_new) {
                self.models.insert(metric.to_owned(), KnownModel { model, values });
            }
        }
    }

    /// How the forecasts did that were really made, beside the value before each; the first has none before it.
    pub fn made(&self, metric: &str) -> Past {
        let mut past = Past::default();
        for pair in self.forecasts(metric).windows(2) {
            past.add(&pair[1].0, pair[1].1, pair[0].1);
        }
        past
    }

    /// What was expected and what came, for each cycle that has both.
    pub fn forecasts(&self, metric: &str) -> Vec<(Expected, f64)> {
        let pair = |(expected, came): (&Option<Expected>, Option<f64>)| Some(((*expected)?, came?));
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

fn note(place: &mut BTreeMap<String, Tracked>, measured: Measured, problems: &mut Vec<String>) {
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

/// Every metric gets a value for this cycle, or none.
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
            problems.push(format!("{name} cannot be {value}"));
        }
    }
    for series in place.values_mut().filter(|series| series.len() < length) {
        series.resize(length, None);
    }
}

fn push_predictions(
    place: &mut BTreeMap<String, Vec<Option<Expected>>>,
    predictions: BTreeMap<String, Expected>,
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
