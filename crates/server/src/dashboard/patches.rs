//! The ledger: proposals, their verdicts, and decisions of users.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use menace_store::{PatchRecord, PatchState};
use serde::Deserialize;
use serde_json::{Value, json};

use super::events::parse_run_id;
use super::state::{DashboardState, unavailable};
use crate::clock;
use crate::error::ApiError;

/// All patches of a run, in order, and the proposal under verification.
pub(super) async fn list(
    State(place): State<Arc<DashboardState>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let (store, run) = (place.store().await?, parse_run_id(&id)?);
    let patches = store.patches(&run).await?;
    let last = store.last_events(Some(&run), 1).await?.pop();
    // The queue holds the proposal without a verdict: a run verifies one proposal at a time.
    let queue: Vec<Value> =
        last.into_iter().filter(|event| event.kind == "patch:proposed").map(|event| event.detail).collect();
    let shown: Vec<Value> = patches.iter().map(summary).collect();
    Ok(Json(json!({"version": 1, "patches": shown, "queue": queue})))
}

fn summary(patch: &PatchRecord) -> Value {
    json!({
        "run": patch.run,
        "number": patch.number,
        "proposal": patch.proposal,
        "section": patch.section,
        "proposer": patch.proposer,
        "state": patch.state,
        "at_ms": patch.at_ms,
        "why": patch.detail["why"],
        "gain": patch.verdict["gain"],
        "interval": patch.verdict["interval"],
        "score": patch.verdict["score"],
        "reason": reason(patch),
        "commit": patch.commit,
    })
}

/// Reason why a patch was rejected or reverted; null for kept patches.
fn reason(patch: &PatchRecord) -> Value {
    match patch.state {
        PatchState::Kept => Value::Null,
        PatchState::Reverted => patch.verdict["reverted"].clone(),
        PatchState::Rejected => {
            let conditions = patch.verdict["conditions"].as_array();
            let failed = conditions.and_then(|all| all.iter().find(|one| one["state"] == "fails"));
            failed.map_or_else(
                || json!("verification incomplete"),
                |one| {
                    let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
                    json!(format!("{}: {}", text("name"), text("figure")))
                },
            )
        }
    }
}

/// One patch with its diff, conditions and cost.
pub(super) async fn show(
    State(place): State<Arc<DashboardState>>,
    Path((run, number)): Path<(String, u64)>,
) -> Result<Json<Value>, ApiError> {
    let patch = find_patch(&place, &run, number).await?;
    let mut shown = summary(&patch);
    shown["cause"] = patch.detail["cause"].clone();
    shown["diff"] = patch.detail["diff"].clone();
    shown["cost"] = patch.cost;
    // Decisions of users are stored in the verdict and shown as a separate field.
    shown["decisions"] = patch.verdict["decisions"].clone();
    for name in ["conditions", "scenarios", "alignment", "figures", "regression", "cpu_seconds"] {
        shown[name] = patch.verdict[name].clone();
    }
    Ok(Json(shown))
}

async fn find_patch(place: &DashboardState, run: &str, number: u64) -> Result<PatchRecord, ApiError> {
    let patches = place.store().await?.patches(&parse_run_id(run)?).await?;
    let patch = patches.into_iter().find(|patch| patch.number == number);
    patch.ok_or_else(|| unavailable("patch_not_found", format!("no patch {number} in run {run}")))
}

/// Decision of a user about a patch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PatchDecisionRequest {
    /// `kept` or `reverted`.
    state: PatchState,
    reason: String,
}

/// Reverts a kept patch, or restores a reverted one. A rejected patch stays rejected: it was never committed, and a decision
/// does not change the conditions that it failed.
pub(super) async fn decide(
    State(place): State<Arc<DashboardState>>,
    Path((run, number)): Path<(String, u64)>,
    Json(decision): Json<PatchDecisionRequest>,
) -> Result<Json<Value>, ApiError> {
    let reason = decision.reason.trim();
    if reason.is_empty() {
        return Err(ApiError::invalid("reason must not be empty"));
    }
    let mut patch = find_patch(&place, &run, number).await?;
    match (patch.state, decision.state) {
        (PatchState::Kept, PatchState::Reverted) => patch.verdict["reverted"] = json!(reason),
        (PatchState::Reverted, PatchState::Kept) => patch.verdict["reverted"] = Value::Null,
        (now, wanted) => {
            let message = format!("patch is {} and cannot become {}", now.name(), wanted.name());
            return Err(ApiError::new(StatusCode::CONFLICT, "not_possible", message)
                .hint("only kept patches can be reverted, and only reverted ones restored"));
        }
    }
    patch.state = decision.state;
    let decided =
        json!({"at_ms": clock::now_ms(), "state": decision.state, "reason": reason, "by": "dashboard"});
    match patch.verdict["decisions"].as_array_mut() {
        Some(decisions) => decisions.push(decided),
        None => patch.verdict["decisions"] = json!([decided]),
    }
    place.store().await?.record_patch(&patch).await?;
    let hint = patch.commit.as_ref().filter(|_| patch.state == PatchState::Reverted);
    let hint = hint.map(|commit| format!("git revert {commit}"));
    // The branch belongs to the user, so the command that reverts the commit is only suggested.
    Ok(Json(json!({"version": 1, "state": patch.state, "hint": hint})))
}
