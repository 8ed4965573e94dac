//! Rankings of scenarios and summaries of synergy from histories.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::RoiHistory;
use crate::convergence::moving_average;

/// A ranked scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScenarioRank {
    /// Its name.
    pub scenario: String,
    /// Sum of its values, by which it is ranked.
    pub total: f64,
    /// Number of values.
    pub count: usize,
    /// Latest security score under the scenario, or of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_score: Option<f64>,
}

/// Summary of a kind of synergy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SynergySummary {
    /// `synergy_…`.
    pub metric: String,
    /// Its last value.
    pub last: f64,
    /// Its moving average.
    pub average: f64,
    /// Number of values.
    pub count: usize,
}

/// Scenarios by their latest ROI summed over the histories, greatest first.
pub fn rank_scenarios(histories: &[RoiHistory]) -> Vec<ScenarioRank> {
    let mut totals: BTreeMap<&str, (f64, usize, Option<f64>)> = BTreeMap::new();
    for history in histories {
        for (name, tracked) in &history.scenarios {
            let (total, count, security) = totals.entry(name).or_default();
            *total += tracked.levels.last().copied().unwrap_or(0.0);
            *count += tracked.levels.len();
            let own = tracked.metrics.get("security_score");
            let series = own.or_else(|| history.metrics_history.get("security_score"));
            *security = series.into_iter().flatten().rev().find_map(|value| *value).or(*security);
        }
    }
    sorted(totals)
}

/// Scenarios by the sum of one kind of synergy in the histories that contain them.
pub fn rank_synergy(histories: &[RoiHistory], metric: &str) -> Vec<ScenarioRank> {
    let mut totals: BTreeMap<&str, (f64, usize, Option<f64>)> = BTreeMap::new();
    for history in histories {
        let values = history.series(&synergy_name(metric));
        let sum: f64 = values.iter().sum();
        let names: BTreeSet<&String> =
            history.scenarios.keys().chain(history.scenario_synergy.keys()).collect();
        for name in names {
            let (total, count, _) = totals.entry(name).or_default();
            *total += sum;
            *count += values.len();
        }
    }
    sorted(totals)
}

/// Scenarios by the sum of one kind of synergy that was measured under them.
pub fn rank_scenario_synergy(histories: &[RoiHistory], metric: &str) -> Vec<ScenarioRank> {
    let name = synergy_name(metric);
    let mut totals: BTreeMap<&str, (f64, usize, Option<f64>)> = BTreeMap::new();
    for (scenario, samples) in histories.iter().flat_map(|history| &history.scenario_synergy) {
        for value in samples.iter().filter_map(|sample| sample.get(&name)) {
            let (total, count, _) = totals.entry(scenario).or_default();
            *total += value;
            *count += 1;
        }
    }
    sorted(totals)
}

/// Every kind of synergy with its last value and its moving average over `window`.
pub fn summarise_synergy(history: &RoiHistory, window: usize) -> Vec<SynergySummary> {
    let mut series: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in history.synergy_history.iter().flatten() {
        series.entry(name).or_default().push(*value);
    }
    let summary = |(metric, values): (&str, Vec<f64>)| SynergySummary {
        metric: metric.to_owned(),
        last: values.last().copied().unwrap_or(0.0),
        average: moving_average(&values, window.max(1)),
        count: values.len(),
    };
    series.into_iter().map(summary).collect()
}

fn synergy_name(metric: &str) -> String {
    if metric.starts_with("synergy_") { metric.to_owned() } else { format!("synergy_{metric}") }
}

fn sorted(totals: BTreeMap<&str, (f64, usize, Option<f64>)>) -> Vec<ScenarioRank> {
    let mut ranks: Vec<ScenarioRank> = totals
        .into_iter()
        .map(|(scenario, (total, count, security_score))| ScenarioRank {
            scenario: scenario.to_owned(),
            total,
            count,
            security_score,
        })
        .collect();
    ranks.sort_by(|a, b| b.total.total_cmp(&a.total).then_with(|| a.scenario.cmp(&b.scenario)));
    ranks
}
