//! Metrics and ROI of a run as tables.

use menace_tracker::metrics::METRICS;

use super::super::scan_report::rest;
use crate::terminal::{ColumnAlignment, TableCell, TextStyle, TextTable, grouped, styled};
use menace_app::tracking::{CycleModuleRow, CycleReport};

/// Metrics, ROI by scenario and module, and the forecast.
pub(in crate::commands) fn roi_summary(cycle: &CycleReport, top: usize) -> String {
    let mut text = metrics(cycle) + &scenarios(cycle) + &modules(cycle, top);
    if let Some(forecast) = &cycle.forecast {
        text.push_str(&format!("\n{}  {}\n", styled("Next ROI", TextStyle::Bold), forecast.summary_line()));
    }
    let done = cycle.modules.iter().filter(|row| row.complete.is_some()).count();
    let state = if cycle.converged {
        "all modules are complete; further runs are not worth their cost".to_owned()
    } else {
        format!("{} of {} modules complete", grouped(done), grouped(cycle.modules.len()))
    };
    text + &format!(
        "{}  {state}; changes of ROI below {:.4} do not count\n",
        styled("Complete", TextStyle::Bold),
        cycle.roi_threshold
    )
}

fn metrics(cycle: &CycleReport) -> String {
    let mut table = TextTable::new(&[
        ("metric", ColumnAlignment::Left),
        ("value", ColumnAlignment::Right),
        ("", ColumnAlignment::Left),
        ("", ColumnAlignment::Left),
    ]);
    for metric in METRICS {
        let (value, unit, note) = match cycle.metrics.get(metric.name) {
            Some(value) if metric.name == "energy_consumption" => {
                (number(*value), metric.unit, format!("{}, by {}", metric.help, cycle.energy_source))
            }
            Some(value) => (number(*value), metric.unit, metric.help.to_owned()),
            None => {
                let reason = cycle.unavailable.get(metric.name).copied().unwrap_or("not measured");
                ("–".to_owned(), None, format!("unavailable: {reason}"))
            }
        };
        let note = TableCell::styled(note, TextStyle::Dim);
        table.row([metric.name.into(), value.into(), unit.unwrap_or_default().into(), note]);
    }
    for (name, value) in
        cycle.metrics.iter().filter(|(name, _)| METRICS.iter().all(|metric| metric.name != **name))
    {
        table.row([
            name.clone().into(),
            number(*value).into(),
            "".into(),
            TableCell::styled("from a plugin or file", TextStyle::Dim),
        ]);
    }
    format!("\n{}\n{}", styled("Metrics", TextStyle::Bold), table.text())
}

fn scenarios(cycle: &CycleReport) -> String {
    let mut table = TextTable::new(&[
        ("scenario", ColumnAlignment::Left),
        ("ROI", ColumnAlignment::Right),
        ("Δ", ColumnAlignment::Right),
    ]);
    for row in &cycle.scenarios {
        table.row([row.scenario.clone().into(), format!("{:.3}", row.roi).into(), delta(row.delta).into()]);
    }
    format!("\n{}\n{}", styled("ROI by scenario", TextStyle::Bold), table.text())
}

fn modules(cycle: &CycleReport, top: usize) -> String {
    let mut table = TextTable::new(&[
        ("module", ColumnAlignment::Left),
        ("ROI", ColumnAlignment::Right),
        ("Δ", ColumnAlignment::Right),
        ("RAROI", ColumnAlignment::Right),
        ("confidence", ColumnAlignment::Right),
        ("largest deduction", ColumnAlignment::Left),
        ("", ColumnAlignment::Left),
    ]);
    for row in cycle.modules.iter().take(top) {
        // Measured factors come before assumed ones.
        let is_assumed = |factor: &str| row.raroi.assumed.contains(&factor);
        let mut bottlenecks = row.raroi.bottlenecks.iter();
        let measured = bottlenecks.clone().find(|one| !is_assumed(one.factor));
        let bottleneck = measured.or_else(|| bottlenecks.next());
        table.row([
            row.module.clone().into(),
            format!("{:.3}", row.raroi.roi).into(),
            delta(row.delta).into(),
            format!("{:.3}", row.raroi.raroi).into(),
            row.confidence.map_or("–".to_owned(), |confidence| format!("{confidence:.2}")).into(),
            bottleneck
                .map_or(String::new(), |one| {
                    let assumed = if is_assumed(one.factor) { ", assumed" } else { "" };
                    format!("{} −{:.0} %{assumed}", one.factor, one.costs * 100.0)
                })
                .into(),
            state(row),
        ]);
    }
    let roi = cycle.roi.map_or("–".to_owned(), |roi| format!("{roi:.3}"));
    let title = styled("ROI by module", TextStyle::Bold);
    format!("\n{title}  {roi} {} in cycle {}\n", delta(cycle.delta), cycle.cycle)
        + &table.text()
        + &rest(cycle.modules.len(), top)
        + &hints(cycle)
}

/// Hints for the modules with the lowest ROI.
fn hints(cycle: &CycleReport) -> String {
    let least = cycle.modules.iter().rev().filter_map(|row| Some((row, row.weakest.as_ref()?))).take(3);
    let mut table = TextTable::new(&[
        ("", ColumnAlignment::Left),
        ("", ColumnAlignment::Left),
        ("", ColumnAlignment::Left),
    ]);
    let mut count = 0;
    for (row, weakest) in least {
        count += 1;
        table.row([
            row.module.clone().into(),
            format!("{} {}", weakest.metric, number(weakest.value)).into(),
            TableCell::styled(weakest.hint.clone(), TextStyle::Dim),
        ]);
    }
    if count == 0 {
        String::new()
    } else {
        format!("\n{}\n{}", styled("Look at", TextStyle::Bold), table.text())
    }
}

/// State of a module: veto, complete, borderline, or review.
fn state(row: &CycleModuleRow) -> TableCell {
    if let Some(veto) = row.vetoes.first() {
        return TableCell::styled(format!("veto: {veto}"), TextStyle::Bad);
    }
    if let Some(why) = &row.complete {
        return TableCell::styled(format!("complete: {why}"), TextStyle::Good);
    }
    match row.borderline {
        Some(placed) => {
            TableCell::styled(format!("borderline: {placed:?}").to_lowercase(), TextStyle::Warning)
        }
        None if row.needs_review => TableCell::styled("review", TextStyle::Warning),
        None => "".into(),
    }
}

fn delta(delta: Option<f64>) -> String {
    delta.map_or(String::new(), |delta| format!("{delta:+.3}"))
}

/// The number with about three significant digits.
fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1_000.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 0.001 || size == 0.0 {
        format!("{value:.3}")
    } else {
        format!("{value:.1e}")
    }
}
