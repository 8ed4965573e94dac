//! One metric over cycles: of the repository, a module or a group of modules, under all scenarios or one.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use menace_tracker::forecast::ForecastValue;
use menace_tracker::history::{HistorySeries, RoiHistory};
use serde::Deserialize;
use serde_json::{Value, json};

use super::history::forecast_next;
use super::state::{DashboardState, unavailable};
use crate::error::ApiError;

/// Window of the rolling forecast error.
const ROLLING: usize = 5;

/// Names of metrics, modules, scenarios and groups.
pub(super) async fn names(State(place): State<Arc<DashboardState>>) -> Result<Json<Value>, ApiError> {
    let history = place.history().await?;
    let mut names: Vec<String> =
        ["roi".to_owned()].into_iter().chain(history.metrics_history.keys().cloned()).collect();
    let measured = match place.metrics().await? {
        Some(metrics) => metrics.metric_names().await?,
        None => history.modules.values().flat_map(|module| module.metrics.keys().cloned()).collect(),
    };
    for name in measured {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(Json(json!({
        "version": 1,
        "names": names,
        "modules": history.modules.keys().collect::<Vec<_>>(),
        "scenarios": history.scenarios.keys().collect::<Vec<_>>(),
        "groups": groups(&place)?.into_keys().collect::<Vec<_>>(),
    })))
}

/// Query: module or group of modules, and scenario.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SeriesQuery {
    module: Option<String>,
    group: Option<String>,
    scenario: Option<String>,
}

impl SeriesQuery {
    fn is_all(&self) -> bool {
        self.module.is_none() && self.group.is_none() && self.scenario.is_none()
    }
}

/// Cycle, value, and the number of modules that the value is the mean of.
type SeriesPoints = Vec<(u64, f64, usize)>;

/// Values of a metric over cycles, with its forecasts.
pub(super) async fn show(
    State(place): State<Arc<DashboardState>>,
    Path(name): Path<String>,
    Query(part): Query<SeriesQuery>,
) -> Result<Json<Value>, ApiError> {
    let history = place.history().await?;
    let (points, source) = measured(&place, &history, &name, &part).await?;
    let unknown = "forecasts exist only for the whole repository";
    let forecasts = if part.is_all() { forecasts(&history, &name) } else { json!({"unavailable": unknown}) };
    let points: Vec<Value> = points
        .into_iter()
        .map(|(cycle, value, modules)| json!({"cycle": cycle, "value": value, "modules": modules}))
        .collect();
    Ok(Json(json!({
        "version": 1,
        "name": name,
        "source": source,
        "points": points,
        "forecasts": forecasts,
        "next": if part.is_all() { forecast_next(&history, &name) } else { json!({"unavailable": unknown}) },
    })))
}

async fn measured(
    place: &DashboardState,
    history: &RoiHistory,
    name: &str,
    part: &SeriesQuery,
) -> Result<(SeriesPoints, &'static str), ApiError> {
    let modules = match (&part.module, &part.group) {
        (Some(module), _) => vec![module.clone()],
        (None, Some(group)) => groups(place)?
            .remove(group)
            .ok_or_else(|| unavailable("group_not_found", format!("no group {group} in module_map.json")))?,
        (None, None) => vec![String::new()],
    };
    if let Some(metrics) = place.metrics().await? {
        let mut values: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for module in &modules {
            for record in metrics.metrics(name, module).await? {
                if record.scenario == part.scenario.as_deref().unwrap_or_default() {
                    values.entry(record.cycle).or_default().push(record.value);
                }
            }
        }
        return Ok((means(values), "metrics.db"));
    }
    let mut values: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for module in &modules {
        for (at, value) in
            history_values(history, name, module, part.scenario.as_deref()).into_iter().enumerate()
        {
            values.entry(at as u64 + 1).or_default().extend(value);
        }
    }
    values.retain(|_, values| !values.is_empty());
    Ok((means(values), "roi_history.json"))
}

fn means(values: BTreeMap<u64, Vec<f64>>) -> SeriesPoints {
    values
        .into_iter()
        .map(|(cycle, values)| (cycle, values.iter().sum::<f64>() / values.len() as f64, values.len()))
        .collect()
}

/// Values of a metric from the history file, whose series start at their own first cycle.
pub(super) fn history_values(
    history: &RoiHistory,
    name: &str,
    module: &str,
    scenario: Option<&str>,
) -> Vec<Option<f64>> {
    let levels = |values: &[f64]| values.iter().copied().map(Some).collect();
    let of = |tracked: &HistorySeries| match name {
        "roi" => levels(&tracked.levels),
        "raroi" => levels(&tracked.raroi),
        _ => tracked.metrics.get(name).cloned().unwrap_or_default(),
    };
    match (module.is_empty(), scenario) {
        (true, None) if name == "roi" => levels(&history.roi_levels),
        (true, None) if name.starts_with("synergy_") => levels(&history.series(name)),
        (true, None) => history.metrics_history.get(name).cloned().unwrap_or_default(),
        (true, Some(scenario)) => history.scenarios.get(scenario).map(of).unwrap_or_default(),
        (false, None) => history.modules.get(module).map(of).unwrap_or_default(),
        (false, Some(scenario)) if name == "roi" => {
            let found = history.modules.get(module).and_then(|module| module.scenarios.get(scenario));
            found.map(|found| levels(found)).unwrap_or_default()
        }
        (false, Some(_)) => Vec::new(),
    }
}

/// Forecasts of a metric, one entry for each measured cycle.
pub(super) fn forecast_values(history: &RoiHistory, name: &str) -> Vec<Option<ForecastValue>> {
    let expected =
        if name == "roi" { Some(&history.predicted_roi) } else { history.predicted_metrics.get(name) };
    let length = history_values(history, name, "", None).len();
    let mut expected = expected.cloned().unwrap_or_default();
    expected.resize(length, None);
    expected
}

/// Past forecasts compared with the measured values.
fn forecasts(history: &RoiHistory, name: &str) -> Value {
    let pairs = history.forecasts(name);
    if pairs.is_empty() {
        return json!({"unavailable": "no forecast has been followed by a measurement yet"});
    }
    let errors: Vec<f64> = pairs.iter().map(|(expected, actual)| (expected.value - actual).abs()).collect();
    let rolling: Vec<f64> = (1..=errors.len())
        .map(|end| &errors[end.saturating_sub(ROLLING)..end])
        .map(|last| last.iter().sum::<f64>() / last.len() as f64)
        .collect();
    let intervals: Vec<bool> = pairs
        .iter()
        .filter_map(|(expected, actual)| expected.interval.map(|(low, high)| (low..=high).contains(actual)))
        .collect();
    let covered = intervals.iter().filter(|held| **held).count();
    json!({
        "expected": forecast_values(history, name),
        "actual": history_values(history, name, "", None),
        "rolling_error": rolling,
        "rolling_over": ROLLING,
        "mae": errors.iter().sum::<f64>() / errors.len() as f64,
        "count": pairs.len(),
        "intervals": intervals.len(),
        "covered": covered,
    })
}

/// Groups of modules by name, from the file that `menace map` writes.
fn groups(place: &DashboardState) -> Result<BTreeMap<String, Vec<String>>, ApiError> {
    let map = place.file("module_map.json")?.unwrap_or(Value::Null);
    let of = |group: &Value| {
        Some((group["name"].as_str()?.to_owned(), serde_json::from_value(group["modules"].clone()).ok()?))
    };
    Ok(map["groups"].as_array().into_iter().flatten().filter_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_are_compared_only_with_measured_values() {
        let value = |value| Some(ForecastValue { value, interval: Some((value - 0.1, value + 0.1)) });
        let history = RoiHistory {
            roi_levels: vec![0.5, 0.6, 0.9],
            predicted_roi: vec![None, value(0.5), value(0.6)],
            ..RoiHistory::default()
        };
        let made = forecasts(&history, "roi");
        assert_eq!((&made["count"], &made["intervals"], &made["covered"]), (&json!(2), &json!(2), &json!(1)));
        assert!((made["rolling_error"][1].as_f64().unwrap() - 0.2).abs() < 1e-9, "{made}");
        assert!(forecasts(&history, "reliability")["unavailable"].is_string());
    }
}
