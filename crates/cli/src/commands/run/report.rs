//! The report of a run as tables.

use menace_runner::{DistinctFailure, RunReport};

use crate::commands::scan_report::rest;
use crate::terminal::{
    ColumnAlignment, TableCell, TextStyle, TextTable, count, grouped, input, shortened, styled,
};

/// Summary of a run; tables have at most `top` rows.
pub(in crate::commands) fn report(run: &RunReport, top: usize) -> String {
    let failures = failures("Failures", &run.failures, top);
    let flaky = if run.flaky.is_empty() { String::new() } else { self::failures("Flaky", &run.flaky, top) };
    headline(run) + &scenarios(run) + &failures + &flaky + &unreached(run, top)
}

fn headline(run: &RunReport) -> String {
    let share = if run.sections == 0 { 0.0 } else { run.reached as f64 / run.sections as f64 * 100.0 };
    let (reached, all) = run
        .coverage
        .iter()
        .fold((0, 0), |(reached, all), module| (reached + module.reached, all + module.executable));
    let lines = if all == 0 {
        String::new()
    } else {
        format!("{:.0} % of {} · ", reached as f64 / all as f64 * 100.0, count(all, "line"))
    };
    format!(
        "{} · {} reached ({share:.0} %) · {}{} in {:.1} s · seed {}{}\n",
        count(run.sections, "section"),
        grouped(run.reached),
        lines,
        count(run.calls, "call"),
        run.seconds,
        run.seed,
        run.run.as_ref().map_or(String::new(), |id| format!(" · {id}")),
    )
}

/// Robustness of the sections, one row per scenario.
fn scenarios(run: &RunReport) -> String {
    let mut names: Vec<(String, Option<String>)> = Vec::new();
    for cell in &run.cells {
        let name = (cell.scenario.clone(), cell.severity.clone());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut table = TextTable::new(&[
        ("scenario", ColumnAlignment::Left),
        ("sections", ColumnAlignment::Right),
        ("calls", ColumnAlignment::Right),
        ("robustness", ColumnAlignment::Right),
        ("95 %", ColumnAlignment::Left),
        ("failing sections", ColumnAlignment::Right),
    ]);
    for (scenario, severity) in names {
        let cells: Vec<_> =
            run.cells.iter().filter(|cell| cell.scenario == scenario && cell.severity == severity).collect();
        let measured: Vec<_> = cells.iter().filter(|cell| cell.n > 0).collect();
        let total: usize = measured.iter().map(|cell| cell.n).sum();
        let passed: usize = measured
            .iter()
            .map(|cell| cell.kinds.get("ok").unwrap_or(&0) + cell.kinds.get("rejected").unwrap_or(&0))
            .sum();
        let mean =
            measured.iter().filter_map(|cell| cell.robustness).sum::<f64>() / measured.len().max(1) as f64;
        let (robustness, interval) = if measured.is_empty() {
            let reason = cells.iter().find_map(|cell| cell.void_reason.clone()).unwrap_or_default();
            ("void".to_owned(), shortened(&reason, 60))
        } else {
            let (low, high) = menace_runner::wilson(passed, total);
            (format!("{mean:.3}"), format!("{low:.3} … {high:.3} of all total"))
        };
        let failing =
            measured.iter().filter(|cell| cell.robustness.is_some_and(|robustness| robustness < 1.0));
        table.row([
            severity.map_or(scenario.clone(), |severity| format!("{scenario} ({severity})")).into(),
            grouped(measured.len()).into(),
            grouped(total).into(),
            robustness.into(),
            interval.into(),
            grouped(failing.count()).into(),
        ]);
    }
    format!("\n{}\n{}", styled("Scenarios", TextStyle::Bold), table.text())
}

fn failures(title: &str, all: &[DistinctFailure], top: usize) -> String {
    if all.is_empty() {
        return format!("\n{}  none\n", styled(title, TextStyle::Bold));
    }
    let mut table = TextTable::new(&[
        ("kind", ColumnAlignment::Left),
        ("section", ColumnAlignment::Left),
        ("scenario", ColumnAlignment::Left),
        ("error", ColumnAlignment::Left),
        ("location", ColumnAlignment::Left),
        ("calls", ColumnAlignment::Right),
        ("input", ColumnAlignment::Left),
        ("replay", ColumnAlignment::Left),
    ]);
    for failure in all.iter().take(top) {
        table.row([
            TableCell::styled(failure.kind.name(), TextStyle::Bad),
            failure.section.clone().into(),
            failure.scenario.clone().into(),
            error_text(failure).into(),
            format!("{}:{}", failure.path, failure.line).into(),
            grouped(failure.count).into(),
            input(&failure.input, 60).into(),
            failure.call.clone().unwrap_or_default().into(),
        ]);
    }
    format!("\n{}  {}\n", styled(title, TextStyle::Bold), grouped(all.len()))
        + &table.text()
        + &rest(all.len(), top)
}

fn error_text(failure: &DistinctFailure) -> String {
    let text = match &failure.exception {
        Some(exception) => format!("{exception}: {}", failure.message),
        None => failure.message.clone(),
    };
    shortened(&text.replace('\n', " "), 60)
}

fn unreached(run: &RunReport, top: usize) -> String {
    let all: Vec<_> = run.harness_errors.iter().filter(|error| !error.reached).collect();
    if all.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new(&[("section", ColumnAlignment::Left), ("reason", ColumnAlignment::Left)]);
    for error in all.iter().take(top) {
        table.row([error.section.clone().into(), shortened(&error.reason, 110).into()]);
    }
    let title = styled("Not called", TextStyle::Bold);
    format!("\n{title}  {}\n", grouped(all.len())) + &table.text() + &rest(all.len(), top)
}
