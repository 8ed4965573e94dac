//! Snapshots of files, and sandboxes created from them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SharedSandboxes;
use super::extractors::{JsonBody, PathParams};
use crate::clock;
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{ByteSize, Caller, CreateSandboxRequest, SandboxView, StoredSnapshot};

/// A snapshot.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SnapshotView {
    /// Id of the snapshot, for creating a sandbox with `{"snapshot": …}`.
    snapshot_id: String,
    /// Name chosen by the owner.
    name: String,
    /// Creation time.
    created_at: String,
    /// Id of the sandbox it was taken from.
    sandbox_id: String,
    /// Number of files written.
    written: usize,
    /// Number of files deleted.
    deleted: usize,
}

/// List of snapshots.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SnapshotList {
    snapshots: Vec<SnapshotView>,
}

impl From<&StoredSnapshot> for SnapshotView {
    fn from(kept: &StoredSnapshot) -> Self {
        Self {
            snapshot_id: kept.id.clone(),
            name: kept.name.clone(),
            created_at: clock::format_time(kept.created_ms),
            sandbox_id: kept.sandbox.clone(),
            written: kept.files.changes.written.len(),
            deleted: kept.files.changes.deleted.len(),
        }
    }
}

/// Request to take a snapshot.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TakeSnapshotRequest {
    /// Name chosen by the owner.
    #[schema(max_length = 256)]
    name: String,
}

/// List the snapshots of a sandbox.
#[utoipa::path(get, path = "/api/sandboxes/{id}/snapshots", tag = "snapshots", params(("id" = String, Path)),
    responses((status = 200, body = SnapshotList), (status = 404, description = "Sandbox not found.", body = ErrorBody)))]
pub(super) async fn list(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<Json<SnapshotList>, ApiError> {
    let of_sandbox = sandboxes.find(&caller, &id)?.snapshots();
    Ok(Json(SnapshotList { snapshots: of_sandbox.iter().map(|kept| SnapshotView::from(&**kept)).collect() }))
}

/// Take a snapshot of the files of a sandbox.
#[utoipa::path(post, path = "/api/sandboxes/{id}/snapshots", tag = "snapshots", params(("id" = String, Path)), request_body = TakeSnapshotRequest,
    responses((status = 201, body = SnapshotView),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 404, description = "Sandbox not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 415, description = "Content-Type is not JSON.", body = ErrorBody),
        (status = 422, description = "Invalid name.", body = ErrorBody)))]
pub(super) async fn take(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
    JsonBody(wanted): JsonBody<TakeSnapshotRequest>,
) -> Result<(StatusCode, Json<SnapshotView>), ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    entry.check_not_paused()?;
    if wanted.name.chars().count() > 256 {
        return Err(ApiError::invalid("name: at most 256 characters"));
    }
    let kept = sandboxes.take_snapshot(&entry, wanted.name).await?;
    Ok((StatusCode::CREATED, Json(SnapshotView::from(&*kept))))
}

/// List all snapshots.
#[utoipa::path(get, path = "/api/snapshots", tag = "snapshots", responses((status = 200, body = SnapshotList)))]
pub(super) async fn all(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
) -> Result<Json<SnapshotList>, ApiError> {
    let all = sandboxes.snapshots(&caller);
    Ok(Json(SnapshotList { snapshots: all.iter().map(|kept| SnapshotView::from(&**kept)).collect() }))
}

/// Delete a snapshot.
#[utoipa::path(delete, path = "/api/snapshots/{snapshot}", tag = "snapshots", params(("snapshot" = String, Path)),
    responses((status = 204, description = "Deleted."), (status = 404, description = "Snapshot not found.", body = ErrorBody)))]
pub(super) async fn forget(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    sandboxes.forget_snapshot(&caller, &id)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Create a sandbox with a copy of the files of another one.
#[utoipa::path(post, path = "/api/sandboxes/{id}/fork", tag = "snapshots", params(("id" = String, Path)),
    responses((status = 201, description = "The new sandbox.", body = SandboxView),
        (status = 403, description = "Quota exceeded.", body = ErrorBody),
        (status = 404, description = "Sandbox not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 422, description = "The sandbox cannot be copied.", body = ErrorBody),
        (status = 503, description = "Sandbox limit reached.", body = ErrorBody)))]
pub(super) async fn fork(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<(StatusCode, Json<SandboxView>), ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    entry.check_not_paused()?;
    let kept = sandboxes.take_snapshot(&entry, String::new()).await?;
    let now = entry.now();
    let wanted = CreateSandboxRequest {
        project_name: now.project_name,
        labels: now.labels,
        ports: now.ports,
        memory_limit: now.limits.memory.map(ByteSize),
        snapshot: Some(kept.id.clone()),
        ..CreateSandboxRequest::default()
    };
    let created = sandboxes.create(&caller, wanted).await;
    // The snapshot was only temporary; the new sandbox has its files.
    sandboxes.forget_snapshot(&caller, &kept.id)?;
    Ok((StatusCode::CREATED, Json(created?.view())))
}
