//! Workflows as tables.

use menace_app::workflows::{TrajectoryStageRow, WorkflowRow, WorkflowScenarioRow};
use menace_tracker::foresight::{TrendRisk, WorkflowForecast};

use crate::terminal::{ColumnAlignment, TableCell, TextStyle, TextTable, count, grouped, shortened, styled};

fn signed(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:+.3}"))
}

fn share(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.3}"))
}

fn interval(value: Option<(f64, f64)>) -> String {
    value.map_or(String::new(), |(low, high)| format!("{low:.2} … {high:.2}"))
}

pub(super) fn scenarios(name: &str, rows: &[WorkflowScenarioRow], worst: Option<&str>) -> String {
    let mut table = TextTable::new(&[
        ("scenario", ColumnAlignment::Left),
        ("ROI on − off", ColumnAlignment::Right),
        ("robustness", ColumnAlignment::Right),
        ("95 %", ColumnAlignment::Left),
        ("repetitions", ColumnAlignment::Right),
        ("", ColumnAlignment::Left),
    ]);
    for row in rows {
        let remark = match (&row.void_reason, &row.failure) {
            (Some(reason), _) => TableCell::styled(format!("void: {reason}"), TextStyle::Dim),
            (None, failure) => {
                let mark = if worst == Some(row.scenario.as_str()) { "<== WORST  " } else { "" };
                let failure = failure.as_deref().map_or(String::new(), |failure| shortened(failure, 80));
                TableCell::styled(format!("{mark}{failure}"), TextStyle::Bad)
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
    format!("{}\n\n{}", styled(name, TextStyle::Bold), table.text())
}

pub(super) fn trajectory(name: &str, rows: &[TrajectoryStageRow]) -> String {
    let mut table = TextTable::new(&[
        ("stage", ColumnAlignment::Left),
        ("ROI", ColumnAlignment::Right),
        ("resilience", ColumnAlignment::Right),
        ("degradation", ColumnAlignment::Right),
        ("stability", ColumnAlignment::Right),
        ("repetitions", ColumnAlignment::Right),
        ("", ColumnAlignment::Left),
    ]);
    for row in rows {
        let remark = match (&row.void_reason, &row.failure) {
            (Some(reason), _) => TableCell::styled(format!("void: {reason}"), TextStyle::Dim),
            (None, Some(failure)) => TableCell::styled(shortened(failure, 80), TextStyle::Bad),
            (None, None) => TableCell::styled("", TextStyle::Dim),
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
    format!("{}\n\n{}", styled(name, TextStyle::Bold), table.text())
}

pub(super) fn workflows(rows: &[WorkflowRow]) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&format!(
            "{}  ROI {} · robustness {} ({}) · {}\n",
            styled(&row.workflow, TextStyle::Bold),
            signed(row.roi),
            share(row.cell.robustness),
            interval(row.cell.interval),
            count(row.cell.n, "repetition"),
        ));
        text.push_str(&steps(row));
        if !row.synergy.is_empty() {
            text.push_str(&format!("\n{}", synergy(row)));
        }
        text.push('\n');
    }
    text
}

/// Synergy by metric and scenario; metrics without synergy are only listed by name.
fn synergy(row: &WorkflowRow) -> String {
    let mut columns = vec![("synergy", ColumnAlignment::Left), ("overall", ColumnAlignment::Right)];
    columns.extend(row.scenario_synergy.keys().map(|scenario| (scenario.as_str(), ColumnAlignment::Right)));
    let mut table = TextTable::new(&columns);
    let differs = |value: Option<&f64>| value.is_some_and(|value| value.abs() >= 5e-4);
    let mut same = Vec::new();
    for (metric, overall) in &row.synergy {
        let name = metric.trim_start_matches("synergy_");
        let under: Vec<Option<&f64>> = row.scenario_synergy.values().map(|all| all.get(metric)).collect();
        if !differs(Some(overall)) && !under.iter().any(|value| differs(*value)) {
            same.push(name);
            continue;
        }
        let mut cells: Vec<TableCell> = vec![name.to_owned().into(), signed(Some(*overall)).into()];
        cells.extend(under.into_iter().map(|value| signed(value.copied()).into()));
        table.row(cells);
    }
    let same = if same.is_empty() {
        String::new()
    } else {
        format!("{}\n", styled(format!("no synergy: {}", same.join(", ")), TextStyle::Dim))
    };
    format!("{}{same}", table.text())
}

fn steps(row: &WorkflowRow) -> String {
    let mut table = TextTable::new(&[
        ("step", ColumnAlignment::Left),
        ("time", ColumnAlignment::Right),
        ("peak memory", ColumnAlignment::Right),
        ("crashes", ColumnAlignment::Right),
        ("result", ColumnAlignment::Left),
    ]);
    for step in &row.cell.steps {
        let crashes = match step.crash_frequency {
            Some(frequency) => format!("{:.0} % of {}", frequency * 100.0, step.calls),
            None => "not called".to_owned(),
        };
        let result = match &step.failure {
            Some(failure) => TableCell::styled(shortened(failure, 60), TextStyle::Bad),
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

/// Forecast of a workflow in one line.
pub(super) fn forecast(forecast: Option<&WorkflowForecast>) -> String {
    let title = styled("Forecast", TextStyle::Bold);
    let Some(forecast) = forecast else {
        return format!("\n{title}  too few trajectories yet; at least three are needed\n");
    };
    let risk = match forecast.risk {
        TrendRisk::Stable => "stable",
        TrendRisk::SlowDecay => "slow decay",
        TrendRisk::Volatile => "volatile",
        TrendRisk::ImmediateCollapse => "immediate collapse risk",
    };
    let brittle = if forecast.brittle { ", brittle" } else { "" };
    let collapse =
        forecast.collapse_in.map_or(String::new(), |cycles| format!(", ROI 0 in {cycles:.0} cycles"));
    let source = if forecast.from_template { ", from a template" } else { "" };
    format!(
        "\n{title}  {risk}{brittle}: {:+.3} ROI per cycle, volatility {:.3}{collapse}, from {} cycles{source}\n",
        forecast.slope, forecast.volatility, forecast.cycles
    )
}
