//! Failures of one cell.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use menace_model::ids::RunId;
use menace_store::{CallFilter, CallRecord, Store};
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::with_input;
use super::events::parse_run_id;
use super::state::DashboardState;
use crate::error::ApiError;

/// Maximum number of calls examined for failure signatures.
const MAX_CALLS: u64 = 1_000;

#[derive(Debug, Deserialize)]
pub(super) struct CellQuery {
    section: String,
    scenario: Option<String>,
}

/// Failure signature: kind, exception, file and line.
type CellFailureSignature = (String, String, String, u64);

/// Cells of one section under one scenario or all, with intervals, and its distinct failures. A failure shared by several
/// sections is listed once in a report, with one section as the example; here it is shown for all of them.
pub(super) async fn cell(
    State(place): State<Arc<DashboardState>>,
    Path(id): Path<String>,
    Query(which): Query<CellQuery>,
) -> Result<Json<Value>, ApiError> {
    let store = place.store().await?;
    let run = place.run(&parse_run_id(&id)?).await?;
    let none = Value::Null;
    let report = run.report.as_ref().unwrap_or(&none);
    let of_section = |row: &&Value| row["section"] == which.section.as_str();
    let of_scenario =
        |row: &&Value| which.scenario.as_deref().is_none_or(|scenario| row["scenario"] == scenario);
    let rows = |name: &str| report[name].as_array().into_iter().flatten();
    let own = signatures(store, &run.id, &which).await?;
    let is_own = |row: &&Value| of_section(row) && of_scenario(row) || own.contains(&failure_signature(row));
    let shown = |name: &str| rows(name).filter(is_own).cloned().map(with_input).collect::<Vec<_>>();
    Ok(Json(json!({
        "version": 1,
        "is_final": !report.is_null(),
        "cells": rows("cells").filter(of_section).filter(of_scenario).collect::<Vec<_>>(),
        "failures": shown("failures"),
        "flaky": shown("flaky"),
        "harness_errors": rows("harness_errors").filter(of_section).collect::<Vec<_>>(),
    })))
}

async fn signatures(
    store: &Store,
    run: &RunId,
    which: &CellQuery,
) -> Result<BTreeSet<CellFailureSignature>, ApiError> {
    let filter = CallFilter {
        section: Some(which.section.clone()),
        scenario: which.scenario.clone(),
        limit: MAX_CALLS,
        ..CallFilter::default()
    };
    let calls = store.calls(run, &filter).await?;
    Ok(calls.iter().filter(|call| call.kind.is_failure()).filter_map(call_signature).collect())
}

/// Signature of a failing call; `None` without a frame in the repository, since such a failure is not shared with others.
fn call_signature(call: &CallRecord) -> Option<CellFailureSignature> {
    let facts = &call.detail["facts"];
    let frame = facts["frames"].as_array()?.last()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some((call.kind.name().to_owned(), text(&facts["exception"]), text(&frame[0]), frame[1].as_u64()?))
}

fn failure_signature(failure: &Value) -> CellFailureSignature {
    let text = |name: &str| failure[name].as_str().unwrap_or_default().to_owned();
    (text("kind"), text("exception"), text("path"), failure["line"].as_u64().unwrap_or(0))
}

/// All failures of a run, worst first.
pub(super) async fn failures(
    State(place): State<Arc<DashboardState>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let run = place.run(&parse_run_id(&id)?).await?;
    let none = Value::Null;
    let report = run.report.as_ref().unwrap_or(&none);
    let all: Vec<Value> =
        report["failures"].as_array().into_iter().flatten().cloned().map(with_input).collect();
    Ok(Json(json!({"version": 1, "is_final": !report.is_null(), "failures": all})))
}
