//! `menace truth`: the model that predicts the ROI of the next cycle from the metrics of the last one.

use menace_app::RequestError;
use std::path::PathBuf;

use anyhow::Context;
use menace_analysis::write_atomically;
use menace_tracker::history::RoiHistory;
use menace_tracker::truth::TruthAdapter;
use serde_json::json;

use super::open;
use crate::arguments::TruthCommand;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, print, print_json};

pub(in crate::commands) fn run(
    configuration: &Configuration,
    command: &TruthCommand,
) -> anyhow::Result<MenaceExit> {
    let path = configuration.data_directory().join("truth_adapter.json");
    match command {
        TruthCommand::Retrain { history, output } => {
            let adapter = train(&open(configuration, history)?)?;
            let mut text = serde_json::to_vec(&adapter).context("failed to write the model as JSON")?;
            text.push(b'\n');
            write_atomically(&path, &text).with_context(|| format!("failed to write {}", path.display()))?;
            let summary = json!({
                "version": 1, "model": adapter.kind(), "pairs": adapter.pairs, "features": adapter.features,
                "validation_error": adapter.validation_error, "mean_error": adapter.mean_error,
            });
            if output.json {
                print_json(&summary)?;
            } else {
                print(&format!(
                    "{} trained on {} cycles: error {:.4} on held-out cycles, {:.4} for predicting the mean\n",
                    adapter.kind(),
                    adapter.pairs,
                    adapter.validation_error,
                    adapter.mean_error
                ))?;
            }
        }
        TruthCommand::Show { history, output } => {
            show(&read(&path)?, &open(configuration, history)?, output.json)?;
        }
    }
    Ok(MenaceExit::Done)
}

fn read(path: &PathBuf) -> anyhow::Result<TruthAdapter> {
    let wrong = |problem: String| RequestError::Tracking(format!("{}: {problem}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("{error}; create it with: menace truth retrain")))?;
    let adapter: TruthAdapter = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    adapter.check_version().map_err(|error| wrong(error.to_string()).into())
}

/// Metrics that every cycle has.
fn features(history: &RoiHistory) -> Vec<String> {
    let is_whole = |values: &Vec<Option<f64>>| {
        values.len() == history.roi_levels.len() && values.iter().all(Option::is_some)
    };
    history
        .metrics_history
        .iter()
        .filter(|(_, values)| is_whole(values))
        .map(|(name, _)| name.clone())
        .collect()
}

/// One row for each cycle: its ROI and its metrics.
fn rows(history: &RoiHistory, features: &[String]) -> Vec<Vec<f64>> {
    let value = |name: &String, at: usize| match name.as_str() {
        "roi" => history.roi_levels.get(at).copied(),
        _ => history.metrics_history.get(name).and_then(|values| *values.get(at)?),
    };
    (0..history.roi_levels.len())
        .filter_map(|at| features.iter().map(|name| value(name, at)).collect())
        .collect()
}

fn train(history: &RoiHistory) -> anyhow::Result<TruthAdapter> {
    let mut names = features(history);
    names.insert(0, "roi".to_owned());
    let mut rows = rows(history, &names);
    let targets = history.roi_levels.get(1..).unwrap_or_default();
    rows.truncate(targets.len());
    Ok(TruthAdapter::train(&names, &rows, targets)?)
}

fn show(adapter: &TruthAdapter, history: &RoiHistory, is_json: bool) -> anyhow::Result<()> {
    let rows = rows(history, &adapter.features);
    let Some(last) = rows.last() else {
        let problem = "the history lacks metrics of the model; train it again with: menace truth retrain";
        return Err(RequestError::Tracking(problem.into()).into());
    };
    let recent = &rows[rows.len().saturating_sub(20)..];
    let expected = adapter.predict(last, recent);
    let drift = adapter.drift(recent);
    if is_json {
        return print_json(&json!({"version": 1, "next_roi": expected, "drift": drift}));
    }
    let mut table = TextTable::new(&[
        ("feature", ColumnAlignment::Left),
        ("PSI", ColumnAlignment::Right),
        ("p", ColumnAlignment::Right),
        ("", ColumnAlignment::Left),
    ]);
    for one in &drift {
        table.row([
            one.feature.clone().into(),
            format!("{:.3}", one.stability_index).into(),
            format!("{:.3}", one.p_value).into(),
            if one.has_drifted { "drifted" } else { "" }.into(),
        ]);
    }
    let caution =
        expected.low_confidence.as_ref().map_or(String::new(), |why| format!(", low confidence: {why}"));
    print(&format!("next ROI {:.3} by {}{caution}\n\n{}", expected.value, adapter.kind(), table.text()))
}
