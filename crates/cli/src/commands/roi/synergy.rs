//! `menace synergy-metrics` and `menace synergy`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use menace_analysis::write_atomically;
use menace_tracker::history::summarise_synergy;
use menace_tracker::weights::{
    RegressionWeightLearner, SynergyTrainingSample, SynergyWeights, SynergyWeightsError, WEIGHED,
    WeightLearner,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{path, picture, plot};
use crate::arguments::{SynergyCommand, SynergyMetricsArguments};
use crate::calling::now_ms;
use crate::commands::usage::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, note, print, print_json};
use crate::tracking::{append_line, load_history, synergy_rests};

/// How far weights move at once to what was learned.
const RATE: f64 = 0.5;

/// The file of weights.
#[derive(Debug, Serialize, Deserialize)]
struct SynergyWeightsFile {
    version: u32,
    weights: SynergyWeights,
}

pub(in crate::commands) fn metrics(
    configuration: &Configuration,
    arguments: &SynergyMetricsArguments,
) -> anyhow::Result<MenaceExit> {
    let history = load_history(&path(configuration, arguments.file.clone()))?;
    let rows = summarise_synergy(&history, usize::from(arguments.window));
    if rows.is_empty() {
        let problem = "no synergy was measured: menace workflows run measures it";
        return Err(UsageError::Tracking(problem.into()).into());
    }
    if let Some(Some(file)) = &arguments.plot {
        let bytes = match file.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => plot::svg(&rows).into_bytes(),
            Some("png") => picture::png(&rows).context("failed to encode a picture")?,
            _ => {
                let problem =
                    format!("{} cannot be drawn: the file has to end in .svg or .png", file.display());
                return Err(UsageError::Tracking(problem).into());
            }
        };
        write_atomically(file, &bytes).with_context(|| format!("failed to write {}", file.display()))?;
        note(&format!("drawn: {}", file.display()));
    }
    let rest = synergy_rests(configuration, &history);
    if arguments.output.json {
        let checks: Vec<Value> = rest
            .checks
            .iter()
            .map(|check| json!({"check": check.name, "figure": check.figure, "limit": check.limit, "holds": check.holds()}))
            .collect();
        print_json(&json!({"version": 1, "synergy": rows, "converged": rest.converged, "checks": checks}))?;
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
        rest.checks.iter().filter(|check| !check.holds()).map(|check| check.name).collect();
    let state = match (rest.converged, rest.checks.is_empty()) {
        (true, _) => format!("synergy_roi has come to rest in the last {} values", rest.length),
        (false, true) => format!("{} values of synergy_roi are too few to say whether it rests", rest.length),
        (false, false) => format!("synergy_roi has not come to rest: {}", failed.join(", ")),
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
        SynergyCommand::Show(output) => show(&effective(configuration, read(&file)?)?, output.json)?,
        SynergyCommand::Train(output) => {
            let history = load_history(&directory.join("roi_history.json"))?;
            if learn(&file, &history.synergy_history)?.is_none() {
                let count = samples(&history.synergy_history).len();
                let problem = format!("nothing can be learned from {count} samples of synergy");
                return Err(UsageError::Tracking(problem).into());
            }
            show(&effective(configuration, read(&file)?)?, output.json)?;
        }
        SynergyCommand::Export { file: to } => {
            let text = text_of(&read(&file)?)?;
            write_atomically(to, &text).with_context(|| format!("failed to write {}", to.display()))?;
        }
        SynergyCommand::Import { file: from } => {
            if !from.is_file() {
                return Err(UsageError::Tracking(format!("there is no file {}", from.display())).into());
            }
            write(&directory, &file, &read(from)?, "import", 0)?;
        }
        SynergyCommand::Reset => write(&directory, &file, &SynergyWeights::default(), "reset", 0)?,
        SynergyCommand::History(output) => past(&directory, output.json)?,
    }
    Ok(MenaceExit::Done)
}

/// Learns the weights of a file from what was measured, in order; how many samples that were, or nothing if they are too few.
pub(in crate::commands) fn learn(
    file: &Path,
    measured: &[BTreeMap<String, f64>],
) -> anyhow::Result<Option<usize>> {
    let learner = RegressionWeightLearner { rate: RATE };
    let samples = samples(measured);
    let Some(trained) = learner.learn(&samples, &read(file)?) else { return Ok(None) };
    let directory = file.parent().unwrap_or(Path::new("."));
    write(directory, file, &trained, learner.name(), samples.len())?;
    Ok(Some(samples.len()))
}

/// Synergies of each time they were measured, with the change of `synergy_roi` that followed.
fn samples(measured: &[BTreeMap<String, f64>]) -> Vec<SynergyTrainingSample> {
    let pairs = measured.windows(2).filter_map(|pair| {
        let roi_delta = pair[1].get("synergy_roi")? - pair[0].get("synergy_roi")?;
        let synergy = pair[0]
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix("synergy_")?.to_owned(), *value)))
            .collect();
        Some(SynergyTrainingSample { synergy, roi_delta })
    });
    pairs.collect()
}

/// The weights of a file; without one all count alike.
fn read(file: &Path) -> anyhow::Result<SynergyWeights> {
    let text = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(SynergyWeights::default()),
        result => result.with_context(|| format!("failed to read {}", file.display()))?,
    };
    let wrong = |error: SynergyWeightsError| UsageError::Rules {
        path: PathBuf::from(file),
        problem: error.to_string(),
    };
    Ok(SynergyWeights::read(&text).map_err(wrong)?)
}

/// What the settings say counts more than the file.
fn effective(configuration: &Configuration, mut weights: SynergyWeights) -> anyhow::Result<SynergyWeights> {
    let settings = &configuration.settings().synergy;
    let asked = [
        ("roi", settings.synergy_weight_roi),
        ("efficiency", settings.synergy_weight_efficiency),
        ("resilience", settings.synergy_weight_resilience),
        ("antifragility", settings.synergy_weight_antifragility),
        ("reliability", settings.synergy_weight_reliability),
        ("maintainability", settings.synergy_weight_maintainability),
        ("throughput", settings.synergy_weight_throughput),
    ];
    for (name, weight) in asked.into_iter().filter_map(|(name, weight)| Some((name, weight?))) {
        if !weights.set(name, weight) {
            let variable = format!("SYNERGY_WEIGHT_{}", name.to_uppercase());
            return Err(UsageError::Tracking(format!(
                "{variable} is {weight}, and a weight is from 0 to 10"
            ))
            .into());
        }
    }
    Ok(weights)
}

fn text_of(weights: &SynergyWeights) -> anyhow::Result<Vec<u8>> {
    let file = SynergyWeightsFile { version: 1, weights: weights.clone() };
    let mut text = serde_json::to_vec_pretty(&file).context("weights are plain data")?;
    text.push(b'\n');
    Ok(text)
}

fn write(
    directory: &Path,
    file: &Path,
    weights: &SynergyWeights,
    by: &str,
    samples: usize,
) -> anyhow::Result<()> {
    write_atomically(file, &text_of(weights)?)
        .with_context(|| format!("failed to write {}", file.display()))?;
    append_line(
        &directory.join("synergy_weights.log"),
        &json!({"timestamp": now_ms() as f64 / 1e3, "by": by, "samples": samples, "weights": weights}),
    )
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
        return print("the weights were never changed\n");
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
