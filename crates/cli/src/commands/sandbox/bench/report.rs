//! The table, and the same as JSON.

use serde::Serialize;

use super::contender::{Contender, LeftOut, Row};
use super::samples::{Samples, Summary};
use crate::terminal::{ColumnAlignment, TableCell, TextStyle, TextTable, grouped, latency, styled};

/// What `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    rounds: usize,
    rows: Vec<RowReport>,
    left_out: Vec<LeftOut>,
}

#[derive(Debug, Serialize)]
struct RowReport {
    name: &'static str,
    what: &'static str,
    #[serde(flatten)]
    summary: Summary,
    /// The row of ours that this is a peer of, and how many times ours it takes.
    peer_of: Option<&'static str>,
    times_ours: Option<f64>,
}

impl Report {
    pub(super) fn new(
        contenders: &[Box<dyn Contender>],
        samples: &[Samples],
        left_out: Vec<LeftOut>,
        rounds: usize,
    ) -> Self {
        let measured: Vec<(Row, Summary)> = contenders
            .iter()
            .zip(samples)
            .filter_map(|(contender, samples)| Some((contender.row(), samples.summary()?)))
            .collect();
        let rows = measured.iter().map(|(row, summary)| RowReport::new(row, *summary, &measured)).collect();
        Self { rounds, rows, left_out }
    }

    pub(super) fn table(&self) -> String {
        let mut table = TextTable::new(&[
            ("measure", ColumnAlignment::Left),
            ("p50", ColumnAlignment::Right),
            ("p90", ColumnAlignment::Right),
            ("p99", ColumnAlignment::Right),
            ("count", ColumnAlignment::Right),
            ("beside ours", ColumnAlignment::Right),
            ("what", ColumnAlignment::Left),
        ]);
        for row in &self.rows {
            table.row(row.cells());
        }
        let mut text = table.text();
        for left_out in &self.left_out {
            let line = format!("  {} was left out: {}\n", left_out.name, left_out.reason);
            text.push_str(&styled(line, TextStyle::Dim));
        }
        text
    }
}

impl RowReport {
    fn new(row: &Row, summary: Summary, measured: &[(Row, Summary)]) -> Self {
        let ours = row
            .peer_of
            .and_then(|ours| measured.iter().find(|(other, _)| other.measure == ours))
            .map(|(_, summary)| summary.p50_ms);
        Self {
            name: row.measure.name(),
            what: row.what,
            summary,
            peer_of: row.peer_of.map(crate::arguments::SandboxBenchmark::name),
            times_ours: ours.map(|ours| summary.p50_ms / ours),
        }
    }

    fn cells(&self) -> [TableCell; 7] {
        let beside = match (self.times_ours, self.peer_of) {
            (Some(times), Some(ours)) => format!("{times:.1} × {ours}"),
            _ => String::new(),
        };
        [
            self.name.into(),
            latency(self.summary.p50_ms).into(),
            latency(self.summary.p90_ms).into(),
            latency(self.summary.p99_ms).into(),
            grouped(self.summary.count).into(),
            beside.into(),
            TableCell::styled(self.what, TextStyle::Dim),
        ]
    }
}
