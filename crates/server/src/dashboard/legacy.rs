//! Endpoints of the first editions, kept for existing scripts: ROI and metrics of cycles as plain arrays, and plots.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use menace_tracker::history::RoiHistory;
use serde::Deserialize;
use serde_json::{Value, json};

use super::history::weights as weights_of;
use super::plot::{LinePlot, PlotLine};
use super::series::{forecast_values, history_values};
use super::state::{DashboardState, unavailable};
use crate::error::ApiError;

#[derive(Debug, Deserialize)]
pub(super) struct HistoryQuery {
    module: Option<String>,
    scenario: Option<String>,
}

/// Changes of the ROI of the repository, a module or a scenario.
pub(super) async fn roi(
    State(place): State<Arc<DashboardState>>,
    Query(part): Query<HistoryQuery>,
) -> Result<Json<Value>, ApiError> {
    let history = place.history().await?;
    let (levels, deltas) = match (&part.module, &part.scenario) {
        (None, None) => (history.roi_levels.clone(), history.roi_history.clone()),
        (Some(module), None) => tracked(history.modules.get(module), "module", module)?,
        (None, Some(scenario)) => tracked(history.scenarios.get(scenario), "scenario", scenario)?,
        (Some(module), Some(scenario)) => {
            let levels: Vec<f64> =
                history_values(&history, "roi", module, Some(scenario)).into_iter().flatten().collect();
            let deltas = levels
                .iter()
                .enumerate()
                .map(|(at, level)| if at == 0 { 0.0 } else { level - levels[at - 1] });
            let deltas = deltas.collect();
            (levels, deltas)
        }
    };
    Ok(Json(json!({"roi": deltas, "levels": levels})))
}

fn tracked(
    found: Option<&menace_tracker::history::HistorySeries>,
    kind: &str,
    name: &str,
) -> Result<(Vec<f64>, Vec<f64>), ApiError> {
    let missing = || unavailable(&format!("{kind}_not_found"), format!("no {kind} {name} in the history"));
    let found = found.ok_or_else(missing)?;
    Ok((found.levels.clone(), found.deltas.clone()))
}

/// One metric: forecasts and measured values by cycle.
pub(super) async fn metric(
    State(place): State<Arc<DashboardState>>,
    Path(name): Path<String>,
    Query(part): Query<HistoryQuery>,
) -> Result<Json<Value>, ApiError> {
    let history = place.history().await?;
    let module = part.module.as_deref().unwrap_or_default();
    let actual = history_values(&history, &name, module, part.scenario.as_deref());
    if actual.is_empty() {
        return Err(unavailable(
            "metric_not_found",
            format!("no values of {name} for this module and scenario"),
        ));
    }
    let is_all = part.module.is_none() && part.scenario.is_none();
    // Forecasts exist only for the whole repository.
    let predicted: Vec<Option<f64>> = if is_all {
        forecast_values(&history, &name).into_iter().map(|one| one.map(|one| one.value)).collect()
    } else {
        vec![None; actual.len()]
    };
    Ok(Json(json!({"predicted": predicted, "actual": actual})))
}

/// Weight of each kind of synergy, with its history.
pub(super) async fn weights(State(place): State<Arc<DashboardState>>) -> Result<Json<Value>, ApiError> {
    let mut shown = weights_of(&place);
    shown["history"] = Value::Array(place.lines("synergy_weights.log")?);
    Ok(Json(shown))
}

/// Data for a plot of the ROI.
pub(super) async fn roi_data(State(place): State<Arc<DashboardState>>) -> Result<Json<Value>, ApiError> {
    let history = place.history().await?;
    let forecasts = forecast_values(&history, "roi");
    let side = |high: bool| -> Vec<Option<f64>> {
        forecasts
            .iter()
            .map(|one| (*one)?.interval.map(|(low, most)| if high { most } else { low }))
            .collect()
    };
    Ok(Json(json!({
        "labels": (1..=history.roi_levels.len()).collect::<Vec<_>>(),
        "roi": history.roi_levels,
        "deltas": history.roi_history,
        "predicted": forecasts.iter().map(|one| one.map(|one| one.value)).collect::<Vec<_>>(),
        "low": side(false),
        "high": side(true),
    })))
}

/// Plot of forecasts and measured values of the ROI or another metric.
pub(super) async fn predictions(
    State(place): State<Arc<DashboardState>>,
    Path(file): Path<String>,
    Query(which): Query<PlotQuery>,
) -> Result<Response, ApiError> {
    let plot = forecast_plot(&place.history().await?, which.metric.as_deref().unwrap_or("roi"))?;
    match file.as_str() {
        "predictions.svg" => Ok(([(header::CONTENT_TYPE, "image/svg+xml")], plot.svg()).into_response()),
        "predictions.png" => {
            let picture = plot.png().map_err(|error| ApiError::internal(error.to_string()))?;
            Ok(([(header::CONTENT_TYPE, "image/png")], picture).into_response())
        }
        _ => Err(unavailable("plot_not_found", format!("unknown plot {file}"))
            .hint("available: predictions.svg, predictions.png")),
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct PlotQuery {
    metric: Option<String>,
}

fn forecast_plot(history: &RoiHistory, metric: &str) -> Result<LinePlot, ApiError> {
    let actual = history_values(history, metric, "", None);
    if actual.iter().flatten().next().is_none() {
        return Err(unavailable("metric_not_found", format!("no values of {metric}")));
    }
    let predicted =
        forecast_values(history, metric).into_iter().map(|one| one.map(|one| one.value)).collect();
    Ok(LinePlot {
        title: format!("{metric}: predicted and actual"),
        lines: vec![
            PlotLine { name: "actual".into(), values: actual, colour: [31, 119, 180] },
            PlotLine { name: "predicted".into(), values: predicted, colour: [214, 39, 40] },
        ],
    })
}
