//! Parsing of histories, in the present and in the legacy layout.

use std::collections::BTreeMap;

use menace_model::{ErrorClass, ErrorDetails};
use serde::Deserialize;
use thiserror::Error;

use super::{CycleHeader, HistorySeries, RoiHistory, VERSION};
use crate::forecast::ForecastValue;

/// A file that is not a history.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// It is not JSON.
    #[error("not JSON, or truncated: {0}")]
    Json(serde_json::Error),
    /// Numbers that JSON does not have.
    #[error("NaN and Infinity are not JSON numbers: {0}")]
    NotANumber(serde_json::Error),
    /// It has none of the keys of a history.
    #[error("not an ROI history: none of roi_history, module_deltas, metrics_history found")]
    Foreign,
    /// A newer menace wrote it.
    #[error("unsupported version {0}: this menace reads versions up to {VERSION}")]
    Newer(u64),
}

impl ErrorDetails for HistoryError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Json(_) | Self::NotANumber(_) | Self::Foreign | Self::Newer(_) => ErrorClass::Usage,
        }
    }
}

/// The legacy layout.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LegacyHistory {
    roi_history: Vec<f64>,
    module_deltas: BTreeMap<String, Vec<f64>>,
    scenario_roi_deltas: BTreeMap<String, Vec<f64>>,
    metrics_history: BTreeMap<String, Vec<f64>>,
    synergy_metrics_history: BTreeMap<String, Vec<f64>>,
    predicted_roi: Vec<f64>,
    predicted_metrics: BTreeMap<String, Vec<f64>>,
    scenario_synergy: BTreeMap<String, Vec<BTreeMap<String, f64>>>,
}

/// Parses a history.
pub fn read(text: &str) -> Result<RoiHistory, HistoryError> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| json_error(text, error))?;
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version > u64::from(VERSION) => return Err(HistoryError::Newer(version)),
        Some(_) if value.get("roi_levels").is_some() => {
            return serde_json::from_value(value).map_err(HistoryError::Json);
        }
        _ => {}
    }
    if value.is_array() {
        let deltas = serde_json::from_value(value).map_err(HistoryError::Json)?;
        return Ok(LegacyHistory { roi_history: deltas, ..LegacyHistory::default() }.into());
    }
    let known = ["roi_history", "module_deltas", "metrics_history"];
    if !known.iter().any(|key| value.get(key).is_some()) {
        return Err(HistoryError::Foreign);
    }
    serde_json::from_value::<LegacyHistory>(value).map(Into::into).map_err(HistoryError::Json)
}

/// Classifies a parse error: Python's `json` writes NaN and Infinity, which JSON does not have.
fn json_error(text: &str, error: serde_json::Error) -> HistoryError {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let near = line.get(error.column().saturating_sub(3)..).unwrap_or_default();
    if ["NaN", "Infinity", "-Infinity"]
        .iter()
        .any(|name| near.trim_start_matches([' ', ',', '[']).starts_with(name))
    {
        return HistoryError::NotANumber(error);
    }
    HistoryError::Json(error)
}

impl From<LegacyHistory> for RoiHistory {
    /// In the legacy layout all series are changes; levels are their running sums from 0.
    fn from(first: LegacyHistory) -> Self {
        let length = first.roi_history.len();
        let tracked = |all: BTreeMap<String, Vec<f64>>| -> BTreeMap<String, HistorySeries> {
            all.into_iter()
                .map(|(name, deltas)| {
                    (name, HistorySeries { levels: sums(&deltas), deltas, ..HistorySeries::default() })
                })
                .collect()
        };
        let mut metrics = first.metrics_history;
        let mut synergy: Vec<BTreeMap<String, f64>> = Vec::new();
        let mut of_synergy = first.synergy_metrics_history;
        let names: Vec<String> =
            metrics.keys().filter(|name| name.starts_with("synergy_")).cloned().collect();
        for name in names {
            of_synergy.extend(metrics.remove_entry(&name));
        }
        for (name, values) in of_synergy {
            synergy.resize(synergy.len().max(values.len()), BTreeMap::new());
            for (at, value) in values.into_iter().enumerate() {
                synergy[at].insert(name.clone(), value);
            }
        }
        let expected = |value: f64| Some(ForecastValue { value, interval: None });
        Self {
            cycles: (0..length as u64)
                .map(|at| CycleHeader { number: at + 1, at_ms: 0, run: String::new(), note: None })
                .collect(),
            roi_levels: sums(&first.roi_history),
            roi_history: first.roi_history,
            modules: tracked(first.module_deltas),
            scenarios: tracked(first.scenario_roi_deltas),
            metrics_history: metrics
                .into_iter()
                .map(|(name, values)| (name, values.into_iter().map(Some).collect()))
                .collect(),
            predicted_roi: first.predicted_roi.into_iter().map(expected).collect(),
            predicted_metrics: first
                .predicted_metrics
                .into_iter()
                .map(|(name, values)| (name, values.into_iter().map(expected).collect()))
                .collect(),
            synergy_history: synergy,
            scenario_synergy: first.scenario_synergy,
            ..Self::default()
        }
    }
}

fn sums(deltas: &[f64]) -> Vec<f64> {
    deltas
        .iter()
        .scan(0.0, |sum, delta| {
            *sum += delta;
            Some(*sum)
        })
        .collect()
}
