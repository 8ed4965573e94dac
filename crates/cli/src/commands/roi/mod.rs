//! `menace roi`, `menace rank-…`, `menace synergy…`, `menace truth`: reports about histories.

mod picture;
mod plot;
mod ranks;
mod synergy;
mod truth;

use menace_app::RequestError;
use std::path::PathBuf;

use menace_tracker::convergence::reliability;
use menace_tracker::forecast::ForecastRequest;
use menace_tracker::history::RoiHistory;
use menace_tracker::roi::{confidence, rank as ranked};
use serde_json::json;

pub(super) use ranks::{rank_scenario_synergy, rank_scenarios, rank_synergy};
pub(super) use synergy::{metrics as synergy_metrics, weights as synergy};
pub(super) use truth::run as truth;

use crate::arguments::{ForecastArguments, HistoryFileArguments, RoiCommand};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, print, print_json};
use menace_app::tracking::{forecast_of, load_history};

/// Weight of the latest error in the moving average of forecast errors.
const WEIGHT: f64 = 0.3;

pub(super) fn run(configuration: &Configuration, command: &RoiCommand) -> anyhow::Result<MenaceExit> {
    match command {
        RoiCommand::Forecast(arguments) => forecast(configuration, arguments),
        RoiCommand::Rank { history, output } => rank(&open(configuration, history)?, output.json),
        RoiCommand::Reliability { history, metric, output } => {
            reliable(&open(configuration, history)?, metric, output.json)
        }
        RoiCommand::PredictMetric { file, metric, output } => {
            let history = load_history(file)?;
            print_forecast(&history, metric, &ForecastRequest::next(&history.series(metric)), output.json)
        }
    }
}

/// Reads the given history, or the one in the data directory.
fn open(configuration: &Configuration, file: &HistoryFileArguments) -> anyhow::Result<RoiHistory> {
    Ok(load_history(&path(configuration, file.file.clone()))?)
}

fn path(configuration: &Configuration, given: Option<PathBuf>) -> PathBuf {
    given.unwrap_or_else(|| configuration.data_directory().join("roi_history.json"))
}

fn forecast(configuration: &Configuration, arguments: &ForecastArguments) -> anyhow::Result<MenaceExit> {
    let history = open(configuration, &arguments.history)?;
    let series = history.series("roi");
    let request = ForecastRequest {
        horizon: usize::from(arguments.horizon),
        confidence: arguments.confidence,
        ..ForecastRequest::next(&series)
    };
    print_forecast(&history, "roi", &request, arguments.output.json)
}

fn print_forecast(
    history: &RoiHistory,
    metric: &str,
    request: &ForecastRequest,
    is_json: bool,
) -> anyhow::Result<MenaceExit> {
    let report = forecast_of(metric, request, history.forecast_accuracy(metric)).map_err(|error| {
        let known: Vec<&str> = history.metrics_history.keys().map(String::as_str).collect();
        let metrics = if request.series.is_empty() && !known.is_empty() && metric != "roi" {
            format!("; the history has {}", known.join(", "))
        } else {
            String::new()
        };
        RequestError::Tracking(format!("{metric} cannot be forecast: {error}{metrics}"))
    })?;
    if is_json {
        print_json(&report)?;
        return Ok(MenaceExit::Done);
    }
    let name = if metric == "roi" { "ROI" } else { metric };
    let mut text = format!("Predicted {name}: {}\n", report.summary_line());
    for (step, expected) in report.forecast.steps.iter().enumerate().skip(1) {
        let interval =
            expected.interval.map_or(String::new(), |(low, high)| format!("  {low:.3} … {high:.3}"));
        text.push_str(&format!("  in {} cycles  {:.3}{interval}\n", step + 1, expected.value));
    }
    print(&text)?;
    Ok(MenaceExit::Done)
}

fn rank(history: &RoiHistory, is_json: bool) -> anyhow::Result<MenaceExit> {
    let modules = history.modules.iter().filter_map(|(name, tracked)| {
        let raroi = tracked.raroi.last().or(tracked.levels.last())?;
        let confidence = confidence(&tracked.levels, tracked.levels.get(1..).unwrap_or_default());
        Some((name.clone(), *raroi, confidence))
    });
    let rows = ranked(modules);
    if is_json {
        print_json(&json!({"version": 1, "modules": rows}))?;
        return Ok(MenaceExit::Done);
    }
    let mut table = TextTable::new(&[
        ("module", ColumnAlignment::Left),
        ("RAROI", ColumnAlignment::Right),
        ("confidence", ColumnAlignment::Right),
        ("score", ColumnAlignment::Right),
        ("", ColumnAlignment::Left),
    ]);
    for row in &rows {
        table.row([
            row.name.clone().into(),
            format!("{:.3}", row.raroi).into(),
            row.confidence.map_or("–".to_owned(), |confidence| format!("{confidence:.2}")).into(),
            format!("{:.3}", row.score).into(),
            if row.needs_review { "review" } else { "" }.into(),
        ]);
    }
    print(&table.text())?;
    Ok(MenaceExit::Done)
}

fn reliable(history: &RoiHistory, metric: &str, is_json: bool) -> anyhow::Result<MenaceExit> {
    let forecasts = history.forecasts(metric);
    let (expected, actual): (Vec<f64>, Vec<f64>) =
        forecasts.iter().map(|(expected, actual)| (expected.value, *actual)).unzip();
    let Some(value) = reliability(&expected, &actual, WEIGHT) else {
        return Err(RequestError::Tracking(format!(
            "no forecast of {metric} has been compared with a measured value yet"
        ))
        .into());
    };
    let past = history.forecast_accuracy(metric);
    if is_json {
        print_json(&json!({
            "version": 1, "metric": metric, "reliability": value, "forecasts": forecasts.len(),
            "mae": past.mae(), "beats_last_value_by": past.beats_last_value_by(), "coverage": past.coverage(),
        }))?;
        return Ok(MenaceExit::Done);
    }
    let is_worse = past.beats_last_value_by().is_some_and(|by| by < 0.0);
    let yardstick = if is_worse { "worse than last value by" } else { "beats last value by" };
    let named =
        |name: &str, value: Option<String>| value.map_or(String::new(), |value| format!(" · {name} {value}"));
    print(&format!(
        "{metric}: reliability {value:.3} of {} forecasts{}{}{}\n",
        forecasts.len(),
        named("MAE", past.mae().map(|mae| format!("{mae:.3}"))),
        named(yardstick, past.beats_last_value_by().map(|by| format!("{:.0} %", by.abs() * 100.0))),
        named("interval coverage", past.coverage().map(|share| format!("{:.0} %", share * 100.0))),
    ))?;
    Ok(MenaceExit::Done)
}
