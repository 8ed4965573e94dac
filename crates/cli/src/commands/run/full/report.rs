//! What came of each preset, for people and for programs.

use std::collections::BTreeMap;

use menace_tracker::history::RoiHistory;
use serde::Serialize;
use serde_json::Value;

use super::container::{ContainerMeasurement, cores};
use super::job::PresetContainerJob;
use crate::arguments::MeasureOptions;
use crate::commands::run::shortened;
use crate::commands::scan_report::rest;
use crate::exit::MenaceExit;
use crate::terminal::{
    ColumnAlignment, TableCell, TextStyle, TextTable, count, grouped, note, print, print_json, styled,
};

/// A run in containers.
#[derive(Debug, Serialize)]
pub(super) struct ContainerRunReport {
    version: u32,
    mode: &'static str,
    image: String,
    pub(super) seed: u64,
    presets: Vec<PresetReport>,
    /// What the history says now; nothing if nothing was measured.
    roi: Option<MergedContainerCycle>,
    diagnostics: ContainerRunDiagnostics,
    is_interrupted: bool,
}

/// What went wrong that is not the repository's.
#[derive(Debug, Default, Serialize)]
struct ContainerRunDiagnostics {
    #[serde(skip_serializing_if = "Option::is_none")]
    docker_error: Option<String>,
}

/// One preset.
#[derive(Debug, Serialize)]
pub(super) struct PresetReport {
    preset: String,
    pub(super) attempts: u32,
    pub(super) seconds: f64,
    /// What the container was allowed.
    cpus: Option<f64>,
    memory_bytes: Option<u64>,
    /// The scenario that it is compared with, whose failures are another preset's.
    compared_with: Option<String>,
    #[serde(flatten)]
    pub(super) outcome: PresetContainerOutcome,
}

/// What came of a preset.
#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub(super) enum PresetContainerOutcome {
    /// It was measured.
    Measured {
        /// How long processes waited for their share of the processors, if that was limited.
        throttled_ms: Option<f64>,
        /// The most memory of the container.
        peak_bytes: Option<u64>,
        /// What menace printed in the container.
        report: Value,
    },
    /// It says nothing, and why.
    Void { reason: String },
    /// The container or what is needed for it failed.
    Failed { error: String },
}

/// What the merged cycle is.
#[derive(Debug, Serialize)]
pub(super) struct MergedContainerCycle {
    cycle: usize,
    /// Of so many containers.
    containers: usize,
    roi: Option<f64>,
    delta: Option<f64>,
    scenarios: BTreeMap<String, f64>,
    problems: Vec<String>,
}

impl MergedContainerCycle {
    /// What a history says after its last cycle.
    pub(super) fn of(history: &RoiHistory, containers: usize, problems: Vec<String>) -> Self {
        let last = |levels: &[f64]| levels.last().copied();
        let scenarios = history.scenarios.iter();
        Self {
            cycle: history.cycles.len(),
            containers,
            roi: last(&history.roi_levels),
            delta: last(&history.roi_history).filter(|_| history.roi_levels.len() > 1),
            scenarios: scenarios.filter_map(|(name, one)| Some((name.clone(), last(&one.levels)?))).collect(),
            problems,
        }
    }
}

impl PresetReport {
    pub(super) fn of(job: &PresetContainerJob) -> Self {
        Self {
            preset: job.title(),
            attempts: 0,
            seconds: 0.0,
            cpus: job.cpus,
            memory_bytes: job.memory,
            compared_with: job.compared_with().map(str::to_owned),
            outcome: PresetContainerOutcome::Void { reason: job.void_reason().unwrap_or_default() },
        }
    }

    /// Whether it is known before that it cannot be measured.
    pub(super) fn is_void(&self) -> bool {
        matches!(&self.outcome, PresetContainerOutcome::Void { reason } if !reason.is_empty())
    }

    /// Notes what a container has measured, if its limits were felt: what is done to calls has a proof.
    pub(super) fn is_measured(&mut self, seen: ContainerMeasurement, job: &PresetContainerJob) {
        let usage = &seen.outcome.usage;
        // A limit of which nobody knows whether it is one has to be felt.
        let limits = |cpus: f64| cores().is_none_or(|cores| cpus < cores);
        let is_throttled = usage.cpu_throttled_ms.is_some_and(|time| time > 0.0);
        let is_tight =
            |memory| seen.outcome.oom || usage.peak_rss_bytes.is_some_and(|peak| peak > memory / 2);
        self.outcome = if job.cpus.is_some_and(limits) && !is_throttled {
            PresetContainerOutcome::Void {
                reason: "nothing in the container had to wait for its share of the processors".into(),
            }
        } else if job.memory.is_some_and(|memory| !is_tight(memory)) {
            PresetContainerOutcome::Void {
                reason: "less than half of the memory of the container was used".into(),
            }
        } else {
            PresetContainerOutcome::Measured {
                throttled_ms: usage.cpu_throttled_ms,
                peak_bytes: usage.peak_rss_bytes,
                report: seen.report,
            }
        };
    }

    /// Whether what it measured counts.
    pub(super) fn counts(&self) -> bool {
        matches!(self.outcome, PresetContainerOutcome::Measured { .. })
    }

    fn error(&self) -> Option<&String> {
        if let PresetContainerOutcome::Failed { error } = &self.outcome { Some(error) } else { None }
    }

    /// What was found under this preset itself.
    fn failures(&self) -> Vec<&Value> {
        let PresetContainerOutcome::Measured { report, .. } = &self.outcome else { return Vec::new() };
        let is_own = |failure: &&Value| failure["scenario"].as_str() != self.compared_with.as_deref();
        report["failures"].as_array().into_iter().flatten().filter(is_own).collect()
    }
}

impl ContainerRunReport {
    pub(super) fn new(
        image: &str,
        presets: Vec<PresetReport>,
        roi: Option<MergedContainerCycle>,
        is_interrupted: bool,
    ) -> Self {
        let docker_error = presets.iter().filter_map(PresetReport::error).next_back().cloned();
        Self {
            version: 1,
            mode: "full_environment",
            image: image.to_owned(),
            seed: 0,
            presets,
            roi,
            diagnostics: ContainerRunDiagnostics { docker_error },
            is_interrupted,
        }
    }

    /// How a run of it ends: with an error only if no preset could be measured.
    fn exit(&self) -> MenaceExit {
        let measured = self.presets.iter().filter(|preset| preset.counts()).count();
        let has_errors = self.diagnostics.docker_error.is_some();
        let has_failures = self.presets.iter().any(|preset| !preset.failures().is_empty());
        if self.is_interrupted {
            MenaceExit::Interrupted
        } else if has_errors && measured == 0 {
            MenaceExit::Environment
        } else if has_errors || has_failures {
            MenaceExit::Found
        } else {
            MenaceExit::Done
        }
    }
}

/// Shows all rounds; the worst of them is how it ends.
pub(super) fn show(reports: &[ContainerRunReport], measure: &MeasureOptions) -> anyhow::Result<MenaceExit> {
    match (measure.output.json, reports) {
        (true, [report]) => print_json(report)?,
        (true, reports) => print_json(&serde_json::json!({ "version": 1, "runs": reports }))?,
        (false, reports) => {
            let top = if measure.top == 0 { usize::MAX } else { measure.top };
            for report in reports {
                print(&text(report, top))?;
            }
        }
    }
    for error in reports.iter().filter_map(|report| report.diagnostics.docker_error.as_ref()) {
        tracing::error!("{error}");
    }
    if reports.iter().any(|report| report.is_interrupted) {
        note("stopped; what was measured before is in the history");
    }
    Ok(reports
        .iter()
        .map(ContainerRunReport::exit)
        .max_by_key(|exit| exit.code())
        .unwrap_or(MenaceExit::Done))
}

fn text(report: &ContainerRunReport, top: usize) -> String {
    let mut table = TextTable::new(&[
        ("preset", ColumnAlignment::Left),
        ("calls", ColumnAlignment::Right),
        ("failures", ColumnAlignment::Right),
        ("ROI", ColumnAlignment::Right),
        ("seconds", ColumnAlignment::Right),
        ("attempts", ColumnAlignment::Right),
        ("", ColumnAlignment::Left),
    ]);
    for preset in &report.presets {
        let (calls, roi, remark) = match &preset.outcome {
            PresetContainerOutcome::Measured { report, .. } => {
                (number(&report["calls"]), roi(&report["roi"]["roi"]), "".into())
            }
            PresetContainerOutcome::Void { reason } => {
                (String::new(), String::new(), TableCell::from(format!("void: {reason}")))
            }
            PresetContainerOutcome::Failed { error } => {
                let first = error.lines().next().unwrap_or_default();
                (String::new(), String::new(), TableCell::styled(shortened(first, 100), TextStyle::Bad))
            }
        };
        table.row([
            preset.preset.clone().into(),
            calls.into(),
            grouped(preset.failures().len()).into(),
            roi.into(),
            format!("{:.1}", preset.seconds).into(),
            preset.attempts.to_string().into(),
            remark,
        ]);
    }
    let head = format!("{} in containers of {}\n\n", count(report.presets.len(), "preset"), report.image);
    head + &table.text() + &failures(report, top) + &worth(report)
}

fn number(value: &Value) -> String {
    value.as_u64().and_then(|number| usize::try_from(number).ok()).map_or_else(String::new, grouped)
}

fn roi(value: &Value) -> String {
    value.as_f64().map_or_else(String::new, |roi| format!("{roi:.3}"))
}

fn failures(report: &ContainerRunReport, top: usize) -> String {
    let all: Vec<&Value> = report.presets.iter().flat_map(PresetReport::failures).collect();
    let title = styled("Failures", TextStyle::Bold);
    if all.is_empty() {
        return format!("\n{title}  none\n");
    }
    let mut table = TextTable::new(&[
        ("kind", ColumnAlignment::Left),
        ("section", ColumnAlignment::Left),
        ("scenario", ColumnAlignment::Left),
        ("what", ColumnAlignment::Left),
        ("where", ColumnAlignment::Left),
    ]);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for failure in all.iter().take(top) {
        let exception = word(&failure["exception"]);
        let what = format!(
            "{exception}{}{}",
            if exception.is_empty() { "" } else { ": " },
            word(&failure["message"])
        );
        table.row([
            TableCell::styled(word(&failure["kind"]), TextStyle::Bad),
            word(&failure["section"]).into(),
            word(&failure["scenario"]).into(),
            shortened(&what.replace('\n', " "), 60).into(),
            format!("{}:{}", word(&failure["path"]), failure["line"]).into(),
        ]);
    }
    format!("\n{title}  {}\n", grouped(all.len())) + &table.text() + &rest(all.len(), top)
}

fn worth(report: &ContainerRunReport) -> String {
    let Some(merged) = &report.roi else { return String::new() };
    let delta = merged.delta.map_or_else(String::new, |delta| format!(" ({delta:+.3})"));
    let level = merged.roi.map_or_else(|| "not measured".to_owned(), |roi| format!("{roi:.3}"));
    let head = styled("ROI", TextStyle::Bold);
    format!(
        "\n{head}  {level}{delta} in cycle {}, of {}\n",
        merged.cycle,
        count(merged.containers, "container")
    )
}
