//! A run as people read it.

use menace_runner::{Failure, RunReport, Stub};

use super::super::scan_report::rest;
use crate::terminal::{Align, Cell, Style, Table, count, grouped, styled};

/// The summary; tables have at most `top` rows.
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

/// One row for each scenario: how robust the sections are under it.
fn scenarios(run: &RunReport) -> String {
    let mut names: Vec<(String, Option<String>)> = Vec::new();
    for cell in &run.cells {
        let name = (cell.scenario.clone(), cell.severity.clone());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut table = Table::new(&[
        ("scenario", Align::Left),
        ("sections", Align::Right),
        ("calls", Align::Right),
        ("R", Align::Right),
        ("95 %", Align::Left),
        ("failing sections", Align::Right),
    ]);
    for (scenario, severity) in names {
        let cells: Vec<_> =
            run.cells.iter().filter(|cell| cell.scenario == scenario && cell.severity == severity).collect();
        let meeting: Vec<_> = cells.iter().filter(|cell| cell.n > 0).collect();
        let made: usize = meeting.iter().map(|cell| cell.n).sum();
        let well: usize = meeting
            .iter()
            .map(|cell| cell.kinds.get("ok").unwrap_or(&0) + cell.kinds.get("rejected").unwrap_or(&0))
            .sum();
        let mean =
            meeting.iter().filter_map(|cell| cell.robustness).sum::<f64>() / meeting.len().max(1) as f64;
        let (robustness, interval) = if meeting.is_empty() {
            let reason = cells.iter().find_map(|cell| cell.void_reason.clone()).unwrap_or_default();
            ("void".to_owned(), shortened(&reason, 60))
        } else {
            let (low, high) = menace_runner::wilson(well, made);
            (format!("{mean:.3}"), format!("{low:.3} … {high:.3} of all calls"))
        };
        let failing =
            meeting.iter().filter(|cell| cell.robustness.is_some_and(|robustness| robustness < 1.0));
        table.row([
            severity.map_or(scenario.clone(), |severity| format!("{scenario} ({severity})")).into(),
            grouped(meeting.len()).into(),
            grouped(made).into(),
            robustness.into(),
            interval.into(),
            grouped(failing.count()).into(),
        ]);
    }
    format!("\n{}\n{}", styled("Scenarios", Style::Bold), table.text())
}

fn failures(title: &str, all: &[Failure], top: usize) -> String {
    if all.is_empty() {
        return format!("\n{}  none\n", styled(title, Style::Bold));
    }
    let mut table = Table::new(&[
        ("kind", Align::Left),
        ("section", Align::Left),
        ("scenario", Align::Left),
        ("what", Align::Left),
        ("where", Align::Left),
        ("calls", Align::Right),
        ("input", Align::Left),
        ("replay", Align::Left),
    ]);
    for failure in all.iter().take(top) {
        table.row([
            Cell::styled(failure.kind.name(), Style::Bad),
            failure.section.clone().into(),
            failure.scenario.clone().into(),
            what(failure).into(),
            format!("{}:{}", failure.path, failure.line).into(),
            grouped(failure.count).into(),
            input(&failure.input, 60).into(),
            failure.call.clone().unwrap_or_default().into(),
        ]);
    }
    format!("\n{}  {}\n", styled(title, Style::Bold), grouped(all.len()))
        + &table.text()
        + &rest(all.len(), top)
}

fn what(failure: &Failure) -> String {
    let text = match &failure.exception {
        Some(exception) => format!("{exception}: {}", failure.message),
        None => failure.message.clone(),
    };
    shortened(&text.replace('\n', " "), 60)
}

/// The arguments as they would be written.
pub(in crate::commands) fn input(stub: &Stub, longest: usize) -> String {
    let mut all: Vec<String> = stub.arguments.iter().map(ToString::to_string).collect();
    all.extend(stub.keywords.iter().map(|(name, value)| format!("{name}={value}")));
    let arguments = format!("({})", all.join(", "));
    shortened(
        &stub.owner.as_ref().map_or(arguments.clone(), |owner| format!("{owner} · {arguments}")),
        longest,
    )
}

pub(in crate::commands) fn shortened(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    text.chars().take(longest - 1).chain(['…']).collect()
}

fn unreached(run: &RunReport, top: usize) -> String {
    let all: Vec<_> = run.harness_errors.iter().filter(|error| !error.reached).collect();
    if all.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[("section", Align::Left), ("why it was not called", Align::Left)]);
    for error in all.iter().take(top) {
        table.row([error.section.clone().into(), shortened(&error.reason, 110).into()]);
    }
    let title = styled("Not called", Style::Bold);
    format!("\n{title}  {}\n", grouped(all.len())) + &table.text() + &rest(all.len(), top)
}
