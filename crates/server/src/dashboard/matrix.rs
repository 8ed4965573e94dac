//! Matrix of sections by scenarios: calls and successes of each cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use menace_model::calls::OutcomeKind;
use menace_model::runs::StoredReport;
use menace_store::CellCount;
use serde_json::{Value, json};

use super::events::parse_run_id;
use super::state::DashboardState;
use crate::error::ApiError;

/// Names with numbers, in the order of insertion.
#[derive(Default)]
struct NumberedNames {
    numbers: BTreeMap<String, usize>,
    names: Vec<String>,
}

impl NumberedNames {
    fn of(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }
}

/// Cells in a compact format: ten thousand rows take one megabyte instead of ten. A cell consists of the numbers of its
/// section and column, the calls that count, the successful ones, and the number of the reason if none counts.
#[derive(Default)]
struct CellMatrix {
    sections: NumberedNames,
    columns: NumberedNames,
    reasons: NumberedNames,
    cells: Vec<Value>,
}

impl CellMatrix {
    fn add(&mut self, section: &str, column: &str, (n, well): (u64, u64), reason: Option<&str>) {
        let position = (self.sections.of(section), self.columns.of(column));
        let reason = reason.map(|reason| self.reasons.of(reason));
        self.cells.push(json!([position.0, position.1, n, well, reason]));
    }

    fn json(self, is_final: bool) -> Value {
        json!({
            "version": 1,
            "is_final": is_final,
            "sections": self.sections.names,
            "columns": self.columns.names,
            "reasons": self.reasons.names,
            "cells": self.cells,
        })
    }
}

/// All cells of a run. An unfinished run has those of the calls made so far.
pub(super) async fn matrix(
    State(place): State<Arc<DashboardState>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let run = place.run(&parse_run_id(&id)?).await?;
    let shown = match &run.report {
        Some(report) => matrix_of_report(report),
        None => matrix_of_calls(place.store().await?.cells(&run.record.id).await?),
    };
    Ok(Json(shown))
}

fn matrix_of_report(report: &StoredReport) -> Value {
    let mut matrix = CellMatrix::default();
    for cell in report.cells.iter().flatten() {
        let column = match &cell.severity {
            Some(severity) => format!("{} · {severity}", cell.scenario),
            None => cell.scenario.clone(),
        };
        let well = cell.ok + cell.rejected;
        matrix.add(&cell.section, &column, (cell.n, well), cell.void_reason.as_deref());
    }
    matrix.json(true)
}

fn matrix_of_calls(counts: Vec<CellCount>) -> Value {
    let mut cells: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for CellCount { section, scenario, kind, count } in counts {
        let (n, well) = cells.entry((section, scenario)).or_default();
        let kind = OutcomeKind::of_name(&kind);
        *n += if kind.is_some_and(OutcomeKind::counts) { count } else { 0 };
        *well += if kind.is_some_and(OutcomeKind::is_success) { count } else { 0 };
    }
    let mut matrix = CellMatrix::default();
    for ((section, scenario), (n, well)) in cells {
        let reason = (n == 0).then_some("no call counts so far");
        matrix.add(&section, &scenario, (n, well), reason);
    }
    matrix.json(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_compact_and_void_ones_have_a_reason() {
        let report = json!({"cells": [
            {"section": "a:f", "scenario": "normal", "severity": null, "n": 4, "ok": 2, "rejected": 1, "crash": 1, "void_reason": null},
            {"section": "a:f", "scenario": "flaky_upstream", "severity": "low", "n": 0, "void_reason": "no request was made"},
        ]});
        let matrix = matrix_of_report(&serde_json::from_value(report).unwrap());
        assert_eq!(matrix["columns"], json!(["normal", "flaky_upstream · low"]));
        assert_eq!(matrix["cells"], json!([[0, 0, 4, 3, null], [0, 1, 0, 0, 0]]));
        assert_eq!(matrix["reasons"], json!(["no request was made"]));
    }

    #[test]
    fn void_calls_and_harness_errors_do_not_count() {
        let count = |kind: &str, count| CellCount {
            section: "a:f".into(),
            scenario: "normal".into(),
            kind: kind.into(),
            count,
        };
        let matrix = matrix_of_calls(vec![
            count("ok", 3),
            count("crash", 1),
            count("void", 7),
            count("harness_error", 2),
        ]);
        assert_eq!((&matrix["is_final"], &matrix["cells"]), (&json!(false), &json!([[0, 0, 4, 3, null]])));
    }
}
