//! What sandboxes take, and what changed in them.

use axum::Json;
use axum::extract::State;
use menace_model::sandbox::FileChanges;
use serde::Serialize;
use utoipa::ToSchema;

use super::Shared;
use super::caller::Named;
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, Sample};

/// What a sandbox takes now, and took before.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Taken {
    /// Now. What this host cannot measure is null.
    now: Sample,
    /// Before, every ten seconds for an hour.
    history: Vec<Sample>,
    /// What was seen on its network.
    network: NetworkTaken,
}

/// What went over the network of a sandbox.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NetworkTaken {
    /// Connections and questions for names, all of them.
    flows: u64,
    /// Those of them whose bytes are not known any more, because there were too many to keep.
    flows_left_out: u64,
    /// Bytes from the sandbox. Without those of `flows_left_out`: where that is not 0, it was at least so much.
    sent_bytes: u64,
    /// Bytes to the sandbox, counted alike.
    received_bytes: u64,
}

/// What a sandbox takes: CPU, memory, disk, processes, network, now and before
#[utoipa::path(get, path = "/api/sandboxes/{id}/stats", tag = "sandboxes", params(("id" = String, Path)),
    responses((status = 200, body = Taken),
        (status = 404, description = "There is no such sandbox.", body = ErrorBody),
        (status = 410, description = "It is gone.", body = ErrorBody)))]
pub(super) async fn stats(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<Taken>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let history = entry.samples();
    let now = entry.sample().await?;
    let seen = entry.sandbox.network().await?;
    let network = NetworkTaken {
        flows: seen.flows.len() as u64 + seen.flows_left_out,
        flows_left_out: seen.flows_left_out,
        sent_bytes: seen.flows.iter().map(|flow| flow.out.bytes).sum(),
        received_bytes: seen.flows.iter().map(|flow| flow.into.bytes).sum(),
    };
    Ok(Json(Taken { now, history, network }))
}

/// Files that were written and deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Changes {
    /// Files that were made or changed.
    written: Vec<String>,
    /// Files that are gone.
    deleted: Vec<String>,
}

/// What was written and deleted in a sandbox since it was made
#[utoipa::path(get, path = "/api/sandboxes/{id}/changes", tag = "files", params(("id" = String, Path)),
    responses((status = 200, body = Changes),
        (status = 404, description = "There is no such sandbox.", body = ErrorBody),
        (status = 409, description = "It is paused.", body = ErrorBody),
        (status = 410, description = "It is gone.", body = ErrorBody)))]
pub(super) async fn changes(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<Changes>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    entry.check_not_paused()?;
    let FileChanges { written, deleted } = entry.sandbox.changes().await?;
    Ok(Json(Changes { written, deleted }))
}
