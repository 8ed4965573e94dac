//! Resource usage and changed files of sandboxes.

use axum::Json;
use axum::extract::State;
use menace_model::sandbox::FileChanges;
use serde::Serialize;
use utoipa::ToSchema;

use super::SharedSandboxes;
use super::extractors::PathParams;
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, SandboxUsageSample};

/// Current and past resource usage of a sandbox.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SandboxUsageReport {
    /// Current usage. Values that this host cannot measure are null.
    now: SandboxUsageSample,
    /// Past usage, sampled every ten seconds for an hour.
    history: Vec<SandboxUsageSample>,
    /// Network usage.
    network: NetworkUsage,
}

/// Network usage of a sandbox.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NetworkUsage {
    /// Number of connections and DNS queries.
    flows: u64,
    /// Number of flows whose details were dropped because there were too many.
    flows_left_out: u64,
    /// Bytes sent by the sandbox, excluding dropped flows: a lower bound if `flows_left_out` is not 0.
    sent_bytes: u64,
    /// Bytes received by the sandbox, counted in the same way.
    received_bytes: u64,
}

/// Get current and past resource usage of a sandbox: CPU, memory, disk, processes, network.
#[utoipa::path(get, path = "/api/sandboxes/{id}/stats", tag = "sandboxes", params(("id" = String, Path)),
    responses((status = 200, body = SandboxUsageReport),
        (status = 404, description = "Sandbox not found.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody)))]
pub(super) async fn stats(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<Json<SandboxUsageReport>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let history = entry.samples();
    let now = entry.sample().await?;
    let report = entry.sandbox.network().await?;
    let network = NetworkUsage {
        flows: report.flows.len() as u64 + report.flows_left_out,
        flows_left_out: report.flows_left_out,
        sent_bytes: report.flows.iter().map(|flow| flow.out.bytes).sum(),
        received_bytes: report.flows.iter().map(|flow| flow.into.bytes).sum(),
    };
    Ok(Json(SandboxUsageReport { now, history, network }))
}

/// Files written and deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChangedFiles {
    /// Created or changed files.
    written: Vec<String>,
    /// Deleted files.
    deleted: Vec<String>,
}

/// List the files written and deleted since the sandbox was created.
#[utoipa::path(get, path = "/api/sandboxes/{id}/changes", tag = "files", params(("id" = String, Path)),
    responses((status = 200, body = ChangedFiles),
        (status = 404, description = "Sandbox not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody)))]
pub(super) async fn changes(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<Json<ChangedFiles>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    entry.check_not_paused()?;
    let FileChanges { written, deleted } = entry.sandbox.changes().await?;
    Ok(Json(ChangedFiles { written, deleted }))
}
