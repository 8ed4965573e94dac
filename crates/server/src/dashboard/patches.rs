//! The ledger: proposals, their verdicts, and decisions of users.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use menace_model::patches::{PatchDecision, PatchState, PatchVerdict};
use menace_store::PatchRecord;
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
        "why": patch.detail.why,
        "gain": patch.verdict.verdict.gain,
        "interval": patch.verdict.verdict.interval,
        "score": patch.verdict.verdict.score,
        "reason": reason(patch),
        "commit": patch.commit,
    })
}

/// Reason why a patch was rejected or reverted; null for kept patches.
fn reason(patch: &PatchRecord) -> Option<String> {
    match patch.state {
        PatchState::Kept => None,
        PatchState::Reverted => patch.verdict.reverted.clone(),
        PatchState::Rejected => {
            Some(patch.verdict.verdict.reason().unwrap_or_else(|| "verification incomplete".to_owned()))
        }
    }
}

/// One patch with its diff, conditions and cost.
pub(super) async fn show(
    State(place): State<Arc<DashboardState>>,
    Path((run, number)): Path<(String, u64)>,
) -> Result<Json<Value>, ApiError> {
    let patch = find_patch(&place, &run, number).await?;
    let PatchVerdict { verdict, decisions, .. } = &patch.verdict;
    let mut shown = summary(&patch);
    let more = json!({
        "cause": patch.detail.cause,
        "diff": patch.detail.diff,
        "cost": patch.cost,
        "decisions": (!decisions.is_empty()).then_some(decisions),
        "conditions": verdict.conditions,
        "scenarios": verdict.scenarios,
        "alignment": verdict.alignment,
        "figures": verdict.figures,
        "regression": verdict.regression,
        "cpu_seconds": verdict.cpu_seconds,
    });
    if let (Value::Object(shown), Value::Object(more)) = (&mut shown, more) {
        shown.extend(more);
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
        (PatchState::Kept, PatchState::Reverted) => patch.verdict.reverted = Some(reason.to_owned()),
        (PatchState::Reverted, PatchState::Kept) => patch.verdict.reverted = None,
        (now, wanted) => {
            let message = format!("patch is {} and cannot become {}", now.name(), wanted.name());
            return Err(ApiError::new(StatusCode::CONFLICT, "not_possible", message)
                .hint("only kept patches can be reverted, and only reverted ones restored"));
        }
    }
    patch.state = decision.state;
    patch.verdict.decisions.push(PatchDecision {
        at_ms: clock::now_ms(),
        state: decision.state,
        reason: reason.to_owned(),
        by: "dashboard".to_owned(),
    });
    place.store().await?.record_patch(&patch).await?;
    let hint = patch.commit.as_ref().filter(|_| patch.state == PatchState::Reverted);
    let hint = hint.map(|commit| format!("git revert {commit}"));
    // The branch belongs to the user, so the command that reverts the commit is only suggested.
    Ok(Json(json!({"version": 1, "state": patch.state, "hint": hint})))
}
