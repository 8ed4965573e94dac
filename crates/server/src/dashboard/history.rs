//! ROI over all cycles, forecasts of the next ones, completed modules, synergy.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use menace_store::MetricRecord;
use menace_tracker::forecast::{Forecast, ForecastRequest, forecast};
use menace_tracker::history::{HistorySeries, RoiHistory, summarise_synergy};
use menace_tracker::weights::SynergyWeights;
use serde_json::{Value, json};

use super::state::DashboardState;
use crate::error::ApiError;

/// Number of cycles to forecast.
const FORECAST_CYCLES: usize = 5;
/// Window of the moving average of synergy.
const WINDOW: usize = 4;

/// The ROI of the repository and its modules over cycles.
pub(super) async fn roi(State(place): State<Arc<DashboardState>>) -> Result<Json<Value>, ApiError> {
    let history = place.history().await?;
    let raroi = match place.metrics().await? {
        Some(metrics) => by_cycle(metrics.metric_of_all_modules("raroi").await?),
        None => {
            json!({"unavailable": "metrics.db does not exist, and the history has no RAROI of the repository"})
        }
    };
    let modules: Vec<Value> =
        history.modules.iter().map(|(name, tracked)| module(name, tracked, &history)).collect();
    let scenarios: BTreeMap<&String, Value> =
        history.scenarios.iter().map(|(name, tracked)| (name, ends(tracked))).collect();
    Ok(Json(json!({
        "version": 1,
        "repository": history.repository,
        "cycles": history.cycles,
        "levels": history.roi_levels,
        "deltas": history.roi_history,
        "predicted": history.predicted_roi,
        "forecast": forecast_next(&history, "roi"),
        "raroi": raroi,
        "modules": modules,
        "scenarios": scenarios,
        "complete": history.complete,
    })))
}

fn module(name: &str, tracked: &HistorySeries, history: &RoiHistory) -> Value {
    let mut shown = ends(tracked);
    shown["module"] = json!(name);
    shown["raroi"] = json!(tracked.raroi.last());
    shown["complete"] = json!(history.complete.get(name));
    shown
}

/// Last value, last change and all values.
fn ends(tracked: &HistorySeries) -> Value {
    json!({"roi": tracked.levels.last(), "delta": tracked.deltas.last(), "levels": tracked.levels})
}

/// RAROI of modules in each cycle: mean, minimum, maximum and number of modules.
fn by_cycle(records: Vec<MetricRecord>) -> Value {
    let mut cycles: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for record in records.into_iter().filter(|record| record.scenario.is_empty()) {
        cycles.entry(record.cycle).or_default().push(record.value);
    }
    let of = |(cycle, values): (u64, Vec<f64>)| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (least, most) = values
            .iter()
            .fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(*value), most.max(*value)));
        json!({"cycle": cycle, "mean": mean, "least": least, "most": most, "modules": values.len()})
    };
    json!({"cycles": cycles.into_iter().map(of).collect::<Vec<_>>()})
}

/// Forecast of the next cycles, or the reason why there is none.
pub(super) fn forecast_next(history: &RoiHistory, metric: &str) -> Value {
    let series = history.series(metric);
    let known = history.models.get(metric).map(|known| known.model);
    match forecast(&ForecastRequest { horizon: FORECAST_CYCLES, known, ..ForecastRequest::next(&series) }) {
        Ok(forecast) => shown(&forecast),
        Err(error) => json!({"unavailable": error.to_string()}),
    }
}

fn shown(forecast: &Forecast) -> Value {
    json!({
        "model": forecast.model.name(),
        "steps": forecast.steps,
        "confidence": forecast.confidence,
        "reason": forecast.reason,
        "mae": forecast.past.mae(),
        "places": forecast.past.count,
    })
}

/// Synergy of workflows and the weight of each kind.
pub(super) async fn synergy(State(place): State<Arc<DashboardState>>) -> Result<Json<Value>, ApiError> {
    let history = place.history().await?;
    Ok(Json(json!({
        "version": 1,
        "history": history.synergy_history,
        "scenarios": history.scenario_synergy,
        "summary": summarise_synergy(&history, WINDOW),
        "weights": weights(&place),
        "weights_history": place.lines("synergy_weights.log")?,
    })))
}

/// Weights from the file, or the defaults without one.
pub(super) fn weights(place: &DashboardState) -> Value {
    let shown = |weights: &SynergyWeights, is_default: bool| json!({"weights": weights.all().collect::<BTreeMap<_, _>>(), "is_default": is_default});
    let file = place.sources.data.join("synergy_weights.json");
    let read = match std::fs::read_to_string(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return shown(&SynergyWeights::default(), true);
        }
        Err(error) => Err(error.to_string()),
        Ok(text) => SynergyWeights::read(&text).map_err(|error| error.to_string()),
    };
    match read {
        Ok(weights) => shown(&weights, false),
        Err(problem) => {
            json!({"weights": {}, "is_default": false, "unavailable": format!("{}: {problem}", file.display())})
        }
    }
}
