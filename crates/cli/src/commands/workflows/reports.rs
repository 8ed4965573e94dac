//! Workflows as people read them.

use menace_tracker::foresight::{Outlook, Risk};

use crate::commands::run::shortened;
use crate::terminal::{Align, Cell, Style, Table, grouped, styled};

use super::scenarios::{ScenarioRow, StageRow};
use super::together::WorkflowRow;

fn signed(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:+.3}"))
}

fn share(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.3}"))
}

fn interval(value: Option<(f64, f64)>) -> String {
    value.map_or(String::new(), |(low, high)| format!("{low:.2} … {high:.2}"))
}

pub(super) fn scenarios(name: &str, rows: &[ScenarioRow], worst: Option<&str>) -> String {
    let mut table = Table::new(&[
        ("scenario", Align::Left),
        ("ROI on − off", Align::Right),
        ("R", Align::Right),
        ("95 %", Align::Left),
        ("times", Align::Right),
        ("", Align::Left),
    ]);
    for row in rows {
        let remark = match (&row.void_reason, &row.failure) {
            (Some(reason), _) => Cell::styled(format!("void: {reason}"), Style::Dim),
            (None, failure) => {
                let mark = if worst == Some(row.scenario.as_str()) { "<== WORST  " } else { "" };
                let failure = failure.as_deref().map_or(String::new(), |failure| shortened(failure, 80));
                Cell::styled(format!("{mark}{failure}"), Style::Bad)
            }
        };
        table.row([
            row.scenario.clone().into(),
            signed(row.roi_delta).into(),
            share(row.robustness).into(),
            interval(row.interval).into(),
            grouped(row.n).into(),
            remark,
        ]);
    }
    format!("{}\n\n{}", styled(name, Style::Bold), table.text())
}

pub(super) fn trajectory(name: &str, rows: &[StageRow]) -> String {
    let mut table = Table::new(&[
        ("stage", Align::Left),
        ("ROI", Align::Right),
        ("resilience", Align::Right),
        ("degradation", Align::Right),
        ("stability", Align::Right),
        ("times", Align::Right),
        ("", Align::Left),
    ]);
    for row in rows {
        let remark = match (&row.void_reason, &row.failure) {
            (Some(reason), _) => Cell::styled(format!("void: {reason}"), Style::Dim),
            (None, Some(failure)) => Cell::styled(shortened(failure, 80), Style::Bad),
            (None, None) => Cell::styled("", Style::Dim),
        };
        table.row([
            row.stage.clone().into(),
            signed(row.roi).into(),
            share(row.resilience).into(),
            signed(row.degradation).into(),
            share(row.stability).into(),
            grouped(row.n).into(),
            remark,
        ]);
    }
    format!("{}\n\n{}", styled(name, Style::Bold), table.text())
}

pub(super) fn workflows(rows: &[WorkflowRow]) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&format!(
            "{}  ROI {} · R {} ({}) · {} times\n",
            styled(&row.workflow, Style::Bold),
            signed(row.roi),
            share(row.cell.robustness),
            interval(row.cell.interval),
            row.cell.n,
        ));
        text.push_str(&steps(row));
        if !row.synergy.is_empty() {
            text.push_str(&format!("\n{}", synergy(row)));
        }
        text.push('\n');
    }
    text
}

/// Metrics by scenarios, only those that differ together from alone.
fn synergy(row: &WorkflowRow) -> String {
    let mut columns = vec![("synergy", Align::Left), ("overall", Align::Right)];
    columns.extend(row.scenario_synergy.keys().map(|scenario| (scenario.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    let differs = |figure: Option<&f64>| figure.is_some_and(|value| value.abs() >= 5e-4);
    let mut same = Vec::new();
    for (metric, overall) in &row.synergy {
        let name = metric.trim_start_matches("synergy_");
        let under: Vec<Option<&f64>> = row.scenario_synergy.values().map(|all| all.get(metric)).collect();
        if !differs(Some(overall)) && !under.iter().any(|figure| differs(*figure)) {
            same.push(name);
            continue;
        }
        let mut cells: Vec<Cell> = vec![name.to_owned().into(), signed(Some(*overall)).into()];
        cells.extend(under.into_iter().map(|figure| signed(figure.copied()).into()));
        table.row(cells);
    }
    let same = if same.is_empty() {
        String::new()
    } else {
        format!("{}\n", styled(format!("the same together and alone: {}", same.join(", ")), Style::Dim))
    };
    format!("{}{same}", table.text())
}

fn steps(row: &WorkflowRow) -> String {
    let mut table = Table::new(&[
        ("step", Align::Left),
        ("time", Align::Right),
        ("peak memory", Align::Right),
        ("crashes", Align::Right),
        ("result", Align::Left),
    ]);
    for step in &row.cell.steps {
        let crashes = match step.crash_frequency {
            Some(frequency) => format!("{:.0} % of {}", frequency * 100.0, step.calls),
            None => "not made".to_owned(),
        };
        let result = match &step.failure {
            Some(failure) => Cell::styled(shortened(failure, 60), Style::Bad),
            None => shortened(step.result.as_deref().unwrap_or_default(), 60).into(),
        };
        table.row([
            step.section.clone().into(),
            step.time_ms.map_or(String::new(), |ms| format!("{ms:.2} ms")).into(),
            step.peak_memory_bytes
                .map_or(String::new(), |bytes| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)))
                .into(),
            crashes.into(),
            result,
        ]);
    }
    table.text()
}

/// What is to be expected of a workflow, in a line.
pub(super) fn outlook(outlook: Option<&Outlook>) -> String {
    let title = styled("Outlook", Style::Bold);
    let Some(outlook) = outlook else {
        return format!("\n{title}  too few trajectories yet: three say something\n");
    };
    let risk = match outlook.risk {
        Risk::Stable => "stable",
        Risk::SlowDecay => "slow decay",
        Risk::Volatile => "volatile",
        Risk::ImmediateCollapse => "immediate collapse risk",
    };
    let brittle = if outlook.brittle { ", brittle" } else { "" };
    let collapse =
        outlook.collapse_in.map_or(String::new(), |cycles| format!(", nothing left in {cycles:.0} cycles"));
    let source = if outlook.from_template { ", from a template" } else { "" };
    format!(
        "\n{title}  {risk}{brittle}: {:+.3} ROI in a cycle, varying by {:.3}{collapse}, from {} cycles{source}\n",
        outlook.slope, outlook.volatility, outlook.cycles
    )
}
