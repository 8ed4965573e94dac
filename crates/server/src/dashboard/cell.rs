//! Failures of one cell.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use menace_model::ids::RunId;
use menace_model::runs::{StoredFailure, StoredReport};
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
    let none = StoredReport::default();
    let report = run.report.as_ref().unwrap_or(&none);
    let is_of = |section: &str, scenario: &str| {
        section == which.section && which.scenario.as_deref().is_none_or(|wanted| wanted == scenario)
    };
    let own = signatures(store, &run.record.id, &which).await?;
    let is_own = |failure: &&StoredFailure| {
        is_of(&failure.section, &failure.scenario) || own.contains(&failure_signature(failure))
    };
    let shown = |failures: &[StoredFailure]| {
        failures.iter().filter(is_own).map(with_input).collect::<Result<Vec<_>, _>>()
    };
    let cells = report.cells.iter().flatten().filter(|cell| is_of(&cell.section, &cell.scenario));
    let errors = report.harness_errors.iter().filter(|error| error.section == which.section);
    Ok(Json(json!({
        "version": 1,
        "is_final": run.is_final,
        "cells": cells.collect::<Vec<_>>(),
        "failures": shown(&report.failures)?,
        "flaky": shown(&report.flaky)?,
        "harness_errors": errors.collect::<Vec<_>>(),
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
    let facts = call.outcome().facts?;
    let (path, line, _) = facts.frames.last()?.clone();
    Some((call.kind.name().to_owned(), facts.exception, path, u64::from(line)))
}

fn failure_signature(failure: &StoredFailure) -> CellFailureSignature {
    let exception = failure.exception.clone().unwrap_or_default();
    (failure.kind.clone(), exception, failure.path.clone(), failure.line)
}

/// All failures of a run, worst first.
pub(super) async fn failures(
    State(place): State<Arc<DashboardState>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let run = place.run(&parse_run_id(&id)?).await?;
    let failures = run.report.iter().flat_map(|report| &report.failures);
    let all: Vec<Value> = failures.map(with_input).collect::<Result<_, _>>()?;
    Ok(Json(json!({"version": 1, "is_final": run.is_final, "failures": all})))
}
