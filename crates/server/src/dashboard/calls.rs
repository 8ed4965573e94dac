//! Calls: their inputs, outcomes and source lines.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use menace_model::calls::{OutcomeKind, Recipe};
use menace_model::ids::CallId;
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
    let shown: Vec<Value> = calls.iter().map(summary).collect();
    Ok(Json(json!({"version": 1, "calls": shown, "next": next})))
}

fn summary(call: &CallRecord) -> Value {
    let facts = &call.detail["facts"];
    json!({
        "id": call.id,
        "number": call.id.number(),
        "section": call.section,
        "scenario": call.scenario,
        "kind": call.kind,
        "wall_ms": call.wall_ms,
        "input": input(&call.spec["stub"]),
        "exception": facts["exception"],
        "message": if facts.is_null() { &call.detail["reason"] } else { &facts["message"] },
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
    let mut shown = summary(&call);
    let frames = call.detail["facts"]["frames"].as_array().cloned().unwrap_or_default();
    let mut traced = Vec::new();
    for frame in frames {
        let (path, line) = (frame[0].as_str().unwrap_or_default(), frame[1].as_u64().unwrap_or(0));
        let lines = source.around(path, line).await;
        traced.push(json!({"path": path, "line": line, "function": frame[2], "source": lines}));
    }
    shown["frames"] = Value::Array(traced);
    shown["detail"] = call.detail;
    shown["circumstances"] = call.spec["circumstances"].clone();
    shown["seed"] = json!(call.spec["seed"].to_string());
    shown["path"] = call.spec["path"].clone();
    shown["line"] = call.spec["line"].clone();
    shown["replay"] = json!(format!("menace replay {id}"));
    Ok(Json(shown))
}

/// A failure with its arguments in Python notation.
pub(super) fn with_input(mut failure: Value) -> Value {
    failure["input"] = json!(input(&failure["input"]));
    failure
}

/// Arguments in Python notation.
fn input(stub: &Value) -> String {
    let recipe = |value: &Value| match serde_json::from_value::<Recipe>(value.clone()) {
        Ok(recipe) => recipe.to_string(),
        Err(_) => value.to_string(),
    };
    let positional = stub["args"].as_array().into_iter().flatten().map(recipe);
    let named = stub["kwargs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|pair| format!("{}={}", pair[0].as_str().unwrap_or_default(), recipe(&pair[1])));
    let all: Vec<String> = positional.chain(named).collect();
    let arguments = format!("({})", all.join(", "));
    if stub["owner"].is_null() { arguments } else { format!("{} · {arguments}", recipe(&stub["owner"])) }
}
