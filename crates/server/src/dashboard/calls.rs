//! Calls: their inputs, outcomes and source lines.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use menace_model::calls::{OutcomeKind, Recipe};
use menace_model::ids::CallId;
use menace_model::runs::{StoredFailure, StoredOutcome, StoredStub};
use menace_store::{CallFilter, CallRecord};
use serde::Deserialize;
use serde_json::{Value, json};

use super::events::parse_run_id;
use super::source_code::RunSourceCode;
use super::state::DashboardState;
use crate::error::ApiError;

/// Default and maximum number of calls on a page.
const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 500;

#[derive(Debug, Deserialize)]
pub(super) struct CallListQuery {
    section: Option<String>,
    scenario: Option<String>,
    kind: Option<String>,
    after: Option<u64>,
    limit: Option<u64>,
}

/// One page of calls, in the order of the plan.
pub(super) async fn list(
    State(place): State<Arc<DashboardState>>,
    Path(id): Path<String>,
    Query(which): Query<CallListQuery>,
) -> Result<Json<Value>, ApiError> {
    let kind = |name: String| {
        OutcomeKind::of_name(&name).ok_or_else(|| ApiError::invalid(format!("unknown outcome kind {name:?}")))
    };
    let limit = which.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let filter = CallFilter {
        kind: which.kind.map(kind).transpose()?,
        section: which.section,
        scenario: which.scenario,
        after: which.after,
        limit,
    };
    let calls = place.store().await?.calls(&parse_run_id(&id)?, &filter).await?;
    let next = (calls.len() as u64 == limit).then(|| calls.last().map(|call| call.id.number())).flatten();
    let shown: Vec<Value> =
        calls.iter().map(|call| summary(call, &call.call().stub, &call.outcome())).collect();
    Ok(Json(json!({"version": 1, "calls": shown, "next": next})))
}

fn summary(call: &CallRecord, stub: &StoredStub, outcome: &StoredOutcome) -> Value {
    json!({
        "id": call.id,
        "number": call.id.number(),
        "section": call.section,
        "scenario": call.scenario,
        "kind": call.kind,
        "wall_ms": call.wall_ms,
        "input": input(stub),
        "exception": outcome.facts.as_ref().map(|facts| &facts.exception),
        "message": outcome.message(),
    })
}

/// One call with its measurements and the source lines of its traceback.
pub(super) async fn show(
    State(place): State<Arc<DashboardState>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let id: CallId = id.parse()?;
    let store = place.store().await?;
    let call = store.call(&id).await?;
    let run = store.run_without_report(id.run()).await?;
    let source = RunSourceCode::of(store, &run).await?;
    let (spec, outcome) = (call.call(), call.outcome());
    let mut shown = summary(&call, &spec.stub, &outcome);
    let mut traced = Vec::new();
    for (path, line, function) in outcome.facts.iter().flat_map(|facts| &facts.frames) {
        let lines = source.around(path, u64::from(*line)).await;
        traced.push(json!({"path": path, "line": line, "function": function, "source": lines}));
    }
    shown["frames"] = Value::Array(traced);
    shown["detail"] = call.detail;
    shown["circumstances"] = spec.circumstances;
    shown["seed"] = json!(spec.seed.to_string());
    shown["path"] = json!(spec.path);
    shown["line"] = json!(spec.line);
    shown["replay"] = json!(format!("menace replay {id}"));
    Ok(Json(shown))
}

/// A failure with its arguments in Python notation.
pub(super) fn with_input(failure: &StoredFailure) -> Result<Value, ApiError> {
    let mut shown =
        serde_json::to_value(failure).map_err(|error| ApiError::internal(format!("a failure: {error}")))?;
    shown["input"] = json!(input(&failure.input));
    Ok(shown)
}

/// Arguments in Python notation.
fn input(stub: &StoredStub) -> String {
    let positional = stub.args.iter().map(Recipe::to_string);
    let named = stub.kwargs.iter().map(|(name, value)| format!("{name}={value}"));
    let all: Vec<String> = positional.chain(named).collect();
    let arguments = format!("({})", all.join(", "));
    match &stub.owner {
        Some(owner) => format!("{owner} · {arguments}"),
        None => arguments,
    }
}
