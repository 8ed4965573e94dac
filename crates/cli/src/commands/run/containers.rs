//! Runs in containers as tables.

use menace_app::containers::{ContainerFailure, ContainerRunReport, PresetContainerOutcome, PresetReport};

use crate::arguments::MeasureOptions;
use crate::commands::scan_report::rest;
use crate::exit::MenaceExit;
use crate::terminal::{
    ColumnAlignment, TableCell, TextStyle, TextTable, count, grouped, note, print, print_json, shortened,
    styled,
};

/// Prints all reports; the worst decides the exit code.
pub(super) fn show(reports: &[ContainerRunReport], options: &MeasureOptions) -> anyhow::Result<MenaceExit> {
    match (options.output.json, reports) {
        (true, [report]) => print_json(report)?,
        (true, reports) => print_json(&serde_json::json!({ "version": 1, "runs": reports }))?,
        (false, reports) => {
            for report in reports {
                print(&text(report, options.rows()))?;
            }
        }
    }
    for error in reports.iter().filter_map(|report| report.diagnostics.docker_error.as_ref()) {
        tracing::error!("{error}");
    }
    if reports.iter().any(|report| report.is_interrupted) {
        note("interrupted; finished presets are in the history");
    }
    Ok(reports.iter().map(exit).max_by_key(|exit| exit.code()).unwrap_or(MenaceExit::Done))
}

/// Exit code of a report: an error only if no preset could be measured.
fn exit(report: &ContainerRunReport) -> MenaceExit {
    let measured = report.presets.iter().filter(|preset| preset.counts()).count();
    let has_errors = report.diagnostics.docker_error.is_some();
    let has_failures = report.presets.iter().any(|preset| !preset.failures().is_empty());
    if report.is_interrupted {
        MenaceExit::Interrupted
    } else if has_errors && measured == 0 {
        MenaceExit::Environment
    } else if has_errors || has_failures {
        MenaceExit::Found
    } else {
        MenaceExit::Done
    }
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
            PresetContainerOutcome::Measured { summary, .. } => {
                let level = summary.roi.as_ref().and_then(|roi| roi.roi);
                let level = level.map_or_else(String::new, |roi| format!("{roi:.3}"));
                (grouped(summary.calls), level, "".into())
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
    head + &table.text() + &failures(report, top) + &roi(report)
}

fn failures(report: &ContainerRunReport, top: usize) -> String {
    let all: Vec<&ContainerFailure> = report.presets.iter().flat_map(PresetReport::failures).collect();
    let title = styled("Failures", TextStyle::Bold);
    if all.is_empty() {
        return format!("\n{title}  none\n");
    }
    let mut table = TextTable::new(&[
        ("kind", ColumnAlignment::Left),
        ("section", ColumnAlignment::Left),
        ("scenario", ColumnAlignment::Left),
        ("error", ColumnAlignment::Left),
        ("location", ColumnAlignment::Left),
    ]);
    for failure in all.iter().take(top) {
        let error = match &failure.exception {
            Some(exception) => format!("{exception}: {}", failure.message),
            None => failure.message.clone(),
        };
        table.row([
            TableCell::styled(failure.kind.clone(), TextStyle::Bad),
            failure.section.clone().into(),
            failure.scenario.clone().into(),
            shortened(&error.replace('\n', " "), 60).into(),
            format!("{}:{}", failure.path, failure.line).into(),
        ]);
    }
    format!("\n{title}  {}\n", grouped(all.len())) + &table.text() + &rest(all.len(), top)
}

fn roi(report: &ContainerRunReport) -> String {
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
