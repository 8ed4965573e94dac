//! Runs: list, details and progress.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use menace_model::ids::RunId;
use menace_model::runs::{RunKind, StoredCycle, StoredReport, StoredRunOptions};
use menace_store::{PatchRecord, PatchState, RunRecord, Store};
use serde_json::{Map, Value, json};

use super::events::parse_run_id;
use super::progress::{ProgressInputs, progress, time_left};
use super::state::DashboardState;
use crate::clock;
use crate::error::ApiError;

/// Maximum number of listed runs.
const MAX_RUNS: u64 = 200;

/// Version, data directory, and the parts of the dashboard that are unavailable with their reasons.
pub(super) async fn about(State(place): State<Arc<DashboardState>>) -> Json<Value> {
    let sources = &place.sources;
    let runs = place.store().await.err().map(|error| error.message().to_owned());
    let history = place.history().await.err().map(|error| error.message().to_owned());
    let sandboxes =
        (!sources.has_sandboxes).then_some("sandboxes are available only in the dashboard of 'menace serve'");
    Json(json!({
        "version": 1,
        "menace": env!("CARGO_PKG_VERSION"),
        "data": sources.data.display().to_string(),
        // Null if available, otherwise the reason.
        "missing": {"runs": runs, "history": history, "sandboxes": sandboxes},
    }))
}

/// All settings, with their sources.
pub(super) async fn settings(State(place): State<Arc<DashboardState>>) -> Json<Value> {
    Json(json!({"version": 1, "settings": place.sources.settings}))
}

/// Latest runs, newest first. A cycle of `menace auto` is a run of its own and names its parent.
pub(super) async fn list(State(place): State<Arc<DashboardState>>) -> Result<Json<Value>, ApiError> {
    let runs = place.store().await?.runs(MAX_RUNS).await?;
    let options: Vec<StoredRunOptions> = runs.iter().map(RunRecord::known_options).collect();
    let parent_of = |run: &RunRecord| {
        let position = options.iter().position(|other| other.cycle_of(&run.id).is_some());
        position.map(|position| &runs[position].id)
    };
    let summaries = runs.iter().zip(&options);
    let shown: Vec<Value> =
        summaries.map(|(run, options)| summary(run, options.kind, parent_of(run))).collect();
    Ok(Json(json!({"version": 1, "runs": shown})))
}

fn summary(run: &RunRecord, kind: RunKind, parent: Option<&RunId>) -> Value {
    json!({
        "id": run.id,
        "kind": kind,
        "parent": parent,
        "repository": run.repository,
        "state": run.state,
        "began_ms": run.began_ms,
        "ended_ms": run.ended_ms,
        "planned": run.planned,
        "seed": run.seed.to_string(),
    })
}

/// One run: state, stage, budget and cycles.
pub(super) async fn show(
    State(place): State<Arc<DashboardState>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let store = place.store().await?;
    let run = store.run_without_report(&parse_run_id(&id)?).await?;
    let patches = store.patches(&run.id).await?;
    let last = store.last_events(Some(&run.id), 1).await?.pop();
    // Results are in the report of the run that owns the calls: the last cycle, or the run itself.
    let options = run.known_options();
    let calls_run = last_cycle(&options).unwrap_or(&run.id);
    let calls = place.run(calls_run).await?;
    let now = ProgressInputs {
        at_ms: clock::now_ms(),
        last_event: last.as_ref(),
        calls: &calls.record,
        options: &options,
        clock: place.sources.data.join("auto").join(&id).join("elapsed"),
        patches: &patches,
    };
    let mut shown = summary(&run, options.kind, None);
    shown["progress"] = progress(&run, &now);
    shown["cycles"] = Value::Array(cycles(&options, &patches));
    shown["patches"] = patch_counts(&patches);
    shown["kinds"] = json!(kinds(store, &calls.record).await?);
    shown["found"] = calls.report.as_ref().map_or(Value::Null, result_summary);
    shown["stopped"] = match &last {
        Some(event) if event.kind == "run:stopped" => event.detail["reason"].clone(),
        _ => Value::Null,
    };
    Ok(Json(shown))
}

/// Number of calls made and remaining time, which change while calls are made.
pub(super) async fn progress_counts(
    State(place): State<Arc<DashboardState>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let store = place.store().await?;
    let run = store.run_without_report(&parse_run_id(&id)?).await?;
    let calls = match last_cycle(&run.known_options()) {
        Some(cycle) => store.run_without_report(cycle).await?,
        None => run,
    };
    let kinds = kinds(store, &calls).await?;
    let made = kinds.values().filter_map(Value::as_u64).sum();
    Ok(Json(json!({
        "version": 1,
        "calls_run": calls.id,
        "made": made,
        "planned": calls.planned,
        "kinds": kinds,
        "time_left": time_left(&calls, made, clock::now_ms()),
    })))
}

/// Id of the run of the last cycle, if the run has cycles.
fn last_cycle(options: &StoredRunOptions) -> Option<&RunId> {
    options.cycles_begun().last()?.run.as_ref()
}

async fn kinds(store: &Store, run: &RunRecord) -> Result<Map<String, Value>, ApiError> {
    Ok(store.kinds(&run.id).await?.into_iter().map(|(kind, count)| (kind, json!(count))).collect())
}

/// Results of the calls, without the long lists.
fn result_summary(report: &StoredReport) -> Value {
    let worth = report.roi.as_ref();
    json!({
        "sections": report.sections,
        "reached": report.reached,
        "calls": report.calls,
        "seconds": report.seconds,
        "failures": report.failures.len(),
        "flaky": report.flaky.len(),
        "harness_errors": report.harness_errors.len(),
        "roi": worth.and_then(|worth| worth.roi),
        "unavailable": worth.and_then(|worth| worth.unavailable.as_ref()),
        "energy_source": worth.and_then(|worth| worth.energy_source.as_ref()),
        "converged": worth.and_then(|worth| worth.converged),
    })
}

fn cycles(options: &StoredRunOptions, patches: &[PatchRecord]) -> Vec<Value> {
    let begun = options.cycles_begun();
    let first = |number: usize| begun.get(number).and_then(|cycle| cycle.first);
    let of = |(number, cycle): (usize, &StoredCycle)| {
        let (from, to) = (first(number).unwrap_or(0), first(number + 1).unwrap_or(u64::MAX));
        let own: Vec<&PatchRecord> =
            patches.iter().filter(|patch| (from..to).contains(&patch.number)).collect();
        let seen = cycle.seen.clone().unwrap_or_default();
        json!({
            "number": number + 1,
            "run": cycle.run,
            "base": cycle.base,
            "presets": cycle.presets,
            "at_ms": cycle.at_ms,
            "calls": seen.calls,
            "failures": seen.failures,
            "roi": seen.roi,
            "forecast": seen.forecast,
            "seconds": seen.seconds,
            "proposals": own.len(),
            "kept": own.iter().filter(|patch| patch.state == PatchState::Kept).count(),
        })
    };
    begun.iter().enumerate().map(of).collect()
}

fn patch_counts(patches: &[PatchRecord]) -> Value {
    let of = |state: PatchState| patches.iter().filter(|patch| patch.state == state).count();
    json!({
        "all": patches.len(),
        "kept": of(PatchState::Kept),
        "rejected": of(PatchState::Rejected),
        "reverted": of(PatchState::Reverted),
    })
}
