//! A run as people read it.

use menace_runner::{Failure, RunReport, Stub};

use super::scan_report::rest;
use crate::terminal::{Align, Cell, Style, Table, count, grouped, styled};

/// The summary; tables have at most `top` rows.
pub(super) fn report(run: &RunReport, top: usize) -> String {
    headline(run) + &failures(run, top) + &unreached(run, top)
}

fn headline(run: &RunReport) -> String {
    let share = if run.sections == 0 { 0.0 } else { run.reached as f64 / run.sections as f64 * 100.0 };
    format!(
        "{} · {} reached ({share:.0} %) · {} · seed {}\n",
        count(run.sections, "section"),
        grouped(run.reached),
        count(run.calls, "call"),
        run.seed,
    )
}

fn failures(run: &RunReport, top: usize) -> String {
    if run.failures.is_empty() {
        return format!("\n{}  none\n", styled("Failures", Style::Bold));
    }
    let mut table = Table::new(&[
        ("kind", Align::Left),
        ("section", Align::Left),
        ("scenario", Align::Left),
        ("what", Align::Left),
        ("where", Align::Left),
        ("calls", Align::Right),
        ("input", Align::Left),
    ]);
    for failure in run.failures.iter().take(top) {
        table.row([
            Cell::styled(failure.kind.name(), Style::Bad),
            failure.section.clone().into(),
            failure.scenario.to_owned().into(),
            what(failure).into(),
            format!("{}:{}", failure.path, failure.line).into(),
            grouped(failure.count).into(),
            input(&failure.input).into(),
        ]);
    }
    format!("\n{}  {}\n", styled("Failures", Style::Bold), grouped(run.failures.len()))
        + &table.text()
        + &rest(run.failures.len(), top)
}

fn what(failure: &Failure) -> String {
    let text = match &failure.exception {
        Some(exception) => format!("{exception}: {}", failure.message),
        None => failure.message.clone(),
    };
    shortened(&text.replace('\n', " "), 60)
}

/// The arguments as they would be written.
fn input(stub: &Stub) -> String {
    let mut all: Vec<String> = stub.arguments.iter().map(ToString::to_string).collect();
    all.extend(stub.keywords.iter().map(|(name, value)| format!("{name}={value}")));
    let arguments = format!("({})", all.join(", "));
    shortened(&stub.owner.as_ref().map_or(arguments.clone(), |owner| format!("{owner} · {arguments}")), 80)
}

fn shortened(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    text.chars().take(longest - 1).chain(['…']).collect()
}

fn unreached(run: &RunReport, top: usize) -> String {
    if run.harness_errors.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[("section", Align::Left), ("why it was not called", Align::Left)]);
    for error in run.harness_errors.iter().take(top) {
        table.row([error.section.clone().into(), shortened(&error.reason, 110).into()]);
    }
    let title = styled("Not called", Style::Bold);
    format!("\n{title}  {}\n", grouped(run.harness_errors.len()))
        + &table.text()
        + &rest(run.harness_errors.len(), top)
}
