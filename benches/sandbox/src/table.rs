//! The table as JSON.

use serde::Serialize;

use crate::arguments::SandboxBenchmark;
use crate::latency::{LatencySamples, LatencySummary};
use crate::timed_operation::{BenchmarkRow, SkippedBenchmark, TimedOperation};

/// JSON document of the table.
#[derive(Debug, Serialize)]
pub(crate) struct BenchmarkTable {
    rounds: usize,
    rows: Vec<MeasuredRow>,
    left_out: Vec<SkippedBenchmark>,
}

#[derive(Debug, Serialize)]
struct MeasuredRow {
    name: &'static str,
    what: &'static str,
    #[serde(flatten)]
    summary: LatencySummary,
    /// Row of menace that this peer is compared with, and the ratio of the medians.
    peer_of: Option<&'static str>,
    times_ours: Option<f64>,
}

impl BenchmarkTable {
    pub(crate) fn new(
        operations: &[Box<dyn TimedOperation>],
        samples: &[LatencySamples],
        left_out: Vec<SkippedBenchmark>,
        rounds: usize,
    ) -> Self {
        let measured: Vec<(BenchmarkRow, LatencySummary)> = operations
            .iter()
            .zip(samples)
            .filter_map(|(operation, samples)| Some((operation.row(), samples.summary()?)))
            .collect();
        let rows = measured.iter().map(|(row, summary)| MeasuredRow::new(row, *summary, &measured)).collect();
        Self { rounds, rows, left_out }
    }
}

impl MeasuredRow {
    fn new(row: &BenchmarkRow, summary: LatencySummary, measured: &[(BenchmarkRow, LatencySummary)]) -> Self {
        let ours = row
            .peer_of
            .and_then(|ours| measured.iter().find(|(other, _)| other.benchmark == ours))
            .map(|(_, summary)| summary.p50_ms);
        Self {
            name: row.benchmark.name(),
            what: row.what,
            summary,
            peer_of: row.peer_of.map(SandboxBenchmark::name),
            times_ours: ours.map(|ours| summary.p50_ms / ours),
        }
    }
}
