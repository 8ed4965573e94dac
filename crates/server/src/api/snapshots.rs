//! Copies of files, and sandboxes that are made of them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Shared;
use super::caller::{Body, Named};
use crate::clock;
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, CreateSandbox, Kept, SandboxView, Size};

/// A snapshot.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SnapshotView {
    /// What a sandbox is made with: `{"snapshot": …}`.
    snapshot_id: String,
    /// What its owner calls it.
    name: String,
    /// When it was taken.
    created_at: String,
    /// The sandbox it is of.
    sandbox_id: String,
    /// Files that had been written there.
    written: usize,
    /// Files that had been deleted there.
    deleted: usize,
}

/// Snapshots.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Snapshots {
    snapshots: Vec<SnapshotView>,
}

impl From<&Kept> for SnapshotView {
    fn from(kept: &Kept) -> Self {
        Self {
            snapshot_id: kept.id.clone(),
            name: kept.name.clone(),
            created_at: clock::text(kept.created_ms),
            sandbox_id: kept.sandbox.clone(),
            written: kept.files.changes.written.len(),
            deleted: kept.files.changes.deleted.len(),
        }
    }
}

/// A snapshot to be taken.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TakeSnapshot {
    /// What its owner calls it.
    #[schema(max_length = 256)]
    name: String,
}

/// List snapshots of a sandbox
#[utoipa::path(get, path = "/api/sandboxes/{id}/snapshots", tag = "snapshots", params(("id" = String, Path)),
    responses((status = 200, body = Snapshots), (status = 404, description = "There is no such sandbox.", body = ErrorBody)))]
pub(super) async fn list(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<Snapshots>, ApiError> {
    let of_sandbox = sandboxes.find(&caller, &id)?.snapshots();
    Ok(Json(Snapshots { snapshots: of_sandbox.iter().map(|kept| SnapshotView::from(&**kept)).collect() }))
}

/// Keep a copy of the files of a sandbox
#[utoipa::path(post, path = "/api/sandboxes/{id}/snapshots", tag = "snapshots", params(("id" = String, Path)), request_body = TakeSnapshot,
    responses((status = 201, body = SnapshotView),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox.", body = ErrorBody),
        (status = 409, description = "It is paused.", body = ErrorBody),
        (status = 410, description = "It is gone.", body = ErrorBody),
        (status = 415, description = "The body is not said to be JSON.", body = ErrorBody),
        (status = 422, description = "No such name.", body = ErrorBody)))]
pub(super) async fn take(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
    Body(wanted): Body<TakeSnapshot>,
) -> Result<(StatusCode, Json<SnapshotView>), ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    entry.check_not_paused()?;
    if wanted.name.chars().count() > 256 {
        return Err(ApiError::invalid("name: at most 256 characters"));
    }
    let kept = sandboxes.take_snapshot(&entry, wanted.name).await?;
    Ok((StatusCode::CREATED, Json(SnapshotView::from(&*kept))))
}

/// List all snapshots
#[utoipa::path(get, path = "/api/snapshots", tag = "snapshots", responses((status = 200, body = Snapshots)))]
pub(super) async fn all(
    State(sandboxes): State<Shared>,
    caller: Caller,
) -> Result<Json<Snapshots>, ApiError> {
    let all = sandboxes.snapshots(&caller);
    Ok(Json(Snapshots { snapshots: all.iter().map(|kept| SnapshotView::from(&**kept)).collect() }))
}

/// Forget a snapshot
#[utoipa::path(delete, path = "/api/snapshots/{snapshot}", tag = "snapshots", params(("snapshot" = String, Path)),
    responses((status = 204, description = "It is forgotten."), (status = 404, description = "There is none.", body = ErrorBody)))]
pub(super) async fn forget(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<StatusCode, ApiError> {
    sandboxes.forget_snapshot(&caller, &id)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Make a sandbox with the files that another one has now
#[utoipa::path(post, path = "/api/sandboxes/{id}/fork", tag = "snapshots", params(("id" = String, Path)),
    responses((status = 201, description = "The new one.", body = SandboxView),
        (status = 403, description = "The key may not have that much.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox.", body = ErrorBody),
        (status = 409, description = "It is paused.", body = ErrorBody),
        (status = 410, description = "It is gone.", body = ErrorBody),
        (status = 422, description = "It cannot be copied.", body = ErrorBody),
        (status = 503, description = "There are too many sandboxes.", body = ErrorBody)))]
pub(super) async fn fork(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<(StatusCode, Json<SandboxView>), ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    entry.check_not_paused()?;
    let kept = sandboxes.take_snapshot(&entry, String::new()).await?;
    let now = entry.now();
    let wanted = CreateSandbox {
        project_name: now.project_name,
        labels: now.labels,
        ports: now.ports,
        memory_limit: now.limits.memory.map(Size),
        snapshot: Some(kept.id.clone()),
        ..CreateSandbox::default()
    };
    let made = sandboxes.create(&caller, wanted).await;
    // Nobody asked for a snapshot; the new sandbox has its files.
    sandboxes.forget_snapshot(&caller, &kept.id)?;
    Ok((StatusCode::CREATED, Json(made?.view())))
}
