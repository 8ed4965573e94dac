//! `menace synergy-metrics` and `menace synergy`.

use menace_app::RequestError;
use std::path::Path;

use anyhow::Context;
use menace_analysis::write_atomically;
use menace_app::synergy::{
    effective_weights, learn_weights, read_weights, training_samples, weights_json, write_weights,
};
use menace_app::tracking::{load_history, synergy_rests};
use menace_tracker::history::summarise_synergy;
use menace_tracker::weights::{SynergyWeights, WEIGHED};
use serde_json::{Value, json};

use super::{path, picture, plot};
use crate::arguments::{SynergyCommand, SynergyMetricsArguments};
use crate::commands::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, note, print, print_json};

pub(in crate::commands) fn metrics(
    configuration: &Configuration,
    arguments: &SynergyMetricsArguments,
) -> anyhow::Result<MenaceExit> {
    let history = load_history(&path(configuration, arguments.file.clone()))?;
    let rows = summarise_synergy(&history, usize::from(arguments.window));
    if rows.is_empty() {
        let problem = "no synergy measured yet; measure it with: menace lab workflows run";
        return Err(RequestError::Tracking(problem.into()).into());
    }
    if let Some(Some(file)) = &arguments.plot {
        let bytes = match file.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => plot::svg(&rows).into_bytes(),
            Some("png") => picture::png(&rows).context("failed to encode the PNG")?,
            _ => {
                let problem = format!("cannot draw to {}: the name must end in .svg or .png", file.display());
                return Err(RequestError::Tracking(problem).into());
            }
        };
        write_atomically(file, &bytes).with_context(|| format!("failed to write {}", file.display()))?;
        note(&format!("wrote {}", file.display()));
    }
    let convergence = synergy_rests(configuration.app(), &history);
    if arguments.output.json {
        let checks: Vec<Value> = convergence
            .checks
            .iter()
            .map(|check| json!({"check": check.name, "figure": check.figure, "limit": check.limit, "holds": check.holds()}))
            .collect();
        print_json(
            &json!({"version": 1, "synergy": rows, "converged": convergence.converged, "checks": checks}),
        )?;
        return Ok(MenaceExit::Done);
    }
    let mut table = TextTable::new(&[
        ("metric", ColumnAlignment::Left),
        ("last", ColumnAlignment::Right),
        ("average", ColumnAlignment::Right),
        ("values", ColumnAlignment::Right),
    ]);
    for row in &rows {
        table.row([
            row.metric.clone().into(),
            format!("{:+.3}", row.last).into(),
            format!("{:+.3}", row.average).into(),
            row.count.to_string().into(),
        ]);
    }
    let mut text = table.text();
    if arguments.plot == Some(None) {
        text = text + "\n" + &plot::bars(&rows);
    }
    let failed: Vec<&str> =
        convergence.checks.iter().filter(|check| !check.holds()).map(|check| check.name).collect();
    let state = match (convergence.converged, convergence.checks.is_empty()) {
        (true, _) => format!("synergy_roi has converged in the last {} values", convergence.length),
        (false, true) => {
            format!("too few values of synergy_roi for the convergence test: {}", convergence.length)
        }
        (false, false) => format!("synergy_roi has not converged: {}", failed.join(", ")),
    };
    print(&format!("{text}\n{state}\n"))?;
    Ok(MenaceExit::Done)
}

pub(in crate::commands) fn weights(
    configuration: &Configuration,
    command: &SynergyCommand,
) -> anyhow::Result<MenaceExit> {
    let directory = configuration.data_directory();
    let file = directory.join("synergy_weights.json");
    match command {
        SynergyCommand::Show(output) => {
            show(&effective_weights(configuration.app(), read_weights(&file)?)?, output.json)?;
        }
        SynergyCommand::Train(output) => {
            let history = load_history(&directory.join("roi_history.json"))?;
            if learn_weights(&file, &history.synergy_history)?.is_none() {
                let count = training_samples(&history.synergy_history).len();
                let problem = format!("too few synergy samples to train on: {count}");
                return Err(RequestError::Tracking(problem).into());
            }
            show(&effective_weights(configuration.app(), read_weights(&file)?)?, output.json)?;
        }
        SynergyCommand::Export { file: to } => {
            let text = weights_json(&read_weights(&file)?)?;
            write_atomically(to, &text).with_context(|| format!("failed to write {}", to.display()))?;
        }
        SynergyCommand::Import { file: from } => {
            if !from.is_file() {
                return Err(UsageError::NoSuchFile(from.clone()).into());
            }
            write_weights(&file, &read_weights(from)?, "import", 0)?;
        }
        SynergyCommand::Reset => write_weights(&file, &SynergyWeights::default(), "reset", 0)?,
        SynergyCommand::History(output) => past(&directory, output.json)?,
    }
    Ok(MenaceExit::Done)
}

fn show(weights: &SynergyWeights, is_json: bool) -> anyhow::Result<()> {
    if is_json {
        return print_json(&json!({"version": 1, "weights": weights}));
    }
    let mut table = TextTable::new(&[("synergy", ColumnAlignment::Left), ("weight", ColumnAlignment::Right)]);
    for (name, weight) in weights.all() {
        table.row([name.into(), format!("{weight:.3}").into()]);
    }
    print(&table.text())
}

fn past(directory: &Path, is_json: bool) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(directory.join("synergy_weights.log")).unwrap_or_default();
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if is_json {
        return print_json(&json!({"version": 1, "history": lines}));
    }
    if lines.is_empty() {
        return print("the weights have never changed\n");
    }
    let mut columns = vec![("by", ColumnAlignment::Left), ("samples", ColumnAlignment::Right)];
    columns.extend(WEIGHED.map(|name| (name, ColumnAlignment::Right)));
    let mut table = TextTable::new(&columns);
    for line in &lines {
        let weight = |name: &str| {
            line["weights"][name].as_f64().map_or("–".to_owned(), |weight| format!("{weight:.2}"))
        };
        let first = [line["by"].as_str().unwrap_or_default().to_owned(), line["samples"].to_string()];
        let cells: Vec<_> = first.into_iter().chain(WEIGHED.map(weight)).map(Into::into).collect();
        table.row(cells);
    }
    print(&table.text())
}
