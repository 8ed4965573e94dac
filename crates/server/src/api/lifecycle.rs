//! Handlers that create, change, stop and destroy sandboxes.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use menace_model::sandbox::{LimitsChange, SandboxIsolation, SandboxLimits};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::SharedSandboxes;
use super::extractors::{JsonBody, PathParams, QueryParams, RawBody, object};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{
    ByteSize, Caller, CpuCores, CreateSandboxRequest, PositiveDuration, SandboxView, labels_or_nothing,
};

/// Create a sandbox.
#[utoipa::path(post, path = "/api/sandboxes", tag = "sandboxes", request_body = CreateSandboxRequest,
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256, pattern = "^[!-~]+$", description = "Repeated requests with the same key and body create only one sandbox.")),
    responses(
        (status = 201, description = "The sandbox is running.", body = SandboxView),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 403, description = "Quota exceeded.", body = ErrorBody),
        (status = 415, description = "Content-Type is not JSON.", body = ErrorBody),
        (status = 404, description = "Snapshot not found.", body = ErrorBody),
        (status = 409, description = "The host or backend cannot fulfil the request, or the idempotency key was used with a different request.", body = ErrorBody),
        (status = 410, description = "The sandbox created for this idempotency key no longer exists.", body = ErrorBody),
        (status = 422, description = "Invalid request.", body = ErrorBody),
        (status = 503, description = "Sandbox limit reached.", body = ErrorBody),
    ))]
pub(super) async fn create(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<(StatusCode, Json<SandboxView>), ApiError> {
    let is_json = |kind: &str| kind.split(';').next().is_some_and(|kind| kind.trim().ends_with("json"));
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(is_json) {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "Content-Type is not JSON",
        )
        .hint("send the header Content-Type: application/json"));
    }
    let read = serde_json::from_slice(&body)
        .map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, "not_json", error.to_string()))?;
    let wanted: CreateSandboxRequest = object(read)?;
    let key = headers.get("idempotency-key").map(idempotency_key).transpose()?;
    let entry = sandboxes.create_once(&caller, key, wanted, &body).await?;
    Ok((StatusCode::CREATED, Json(entry.view())))
}

/// Validates an idempotency key. Ignoring an invalid one could create a second sandbox.
fn idempotency_key(header: &HeaderValue) -> Result<&str, ApiError> {
    let key = header.to_str().ok().filter(|key| (1..=256).contains(&key.len()));
    key.filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()))
        .ok_or_else(|| ApiError::invalid("Idempotency-Key: expected 1 to 256 visible ASCII characters"))
}

/// Get a sandbox.
#[utoipa::path(get, path = "/api/sandboxes/{id}", tag = "sandboxes", params(("id" = String, Path)),
    responses((status = 200, body = SandboxView), (status = 404, description = "Sandbox not found.", body = ErrorBody)))]
pub(super) async fn get(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<Json<SandboxView>, ApiError> {
    Ok(Json(sandboxes.find(&caller, &id)?.view()))
}

/// Changes of a running sandbox; omitted fields stay unchanged.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct UpdateSandboxRequest {
    /// Name chosen by the owner.
    #[schema(max_length = 256)]
    project_name: Option<String>,
    /// Memory limit.
    memory_limit: Option<ByteSize>,
    /// Limit of CPU cores.
    cpu_limit: Option<CpuCores>,
    /// Limit of processes and threads.
    #[schema(minimum = 2, maximum = 4_194_304)]
    pids_limit: Option<u64>,
    /// Time from now until the sandbox is destroyed.
    ttl: Option<PositiveDuration>,
    /// Time without requests until the sandbox is stopped.
    idle_timeout: Option<PositiveDuration>,
    /// Default timeout of commands.
    timeout: Option<PositiveDuration>,
    /// New labels; they replace all existing ones.
    #[schema(schema_with = labels_or_nothing)]
    labels: Option<BTreeMap<String, String>>,
}

/// Change limits, labels and timeouts of a sandbox.
#[utoipa::path(patch, path = "/api/sandboxes/{id}", tag = "sandboxes", params(("id" = String, Path)), request_body = UpdateSandboxRequest,
    responses((status = 200, body = SandboxView),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 403, description = "Quota exceeded.", body = ErrorBody),
        (status = 404, description = "Sandbox not found.", body = ErrorBody),
        (status = 409, description = "The host or backend cannot fulfil the request.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 415, description = "Content-Type is not JSON.", body = ErrorBody),
        (status = 422, description = "Invalid request.", body = ErrorBody)))]
pub(super) async fn change(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
    JsonBody(change): JsonBody<UpdateSandboxRequest>,
) -> Result<Json<SandboxView>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let checked = CreateSandboxRequest {
        project_name: change.project_name.clone().unwrap_or_default(),
        labels: change.labels.clone().unwrap_or_default(),
        ..CreateSandboxRequest::default()
    };
    checked.check()?;
    let limits = LimitsChange {
        memory: change.memory_limit.map(|size| size.0),
        cpus: change.cpu_limit.map(|share| share.0),
        pids: change.pids_limit,
    };
    if limits != LimitsChange::default() {
        let before = entry.now().limits;
        let wanted = SandboxLimits { memory: limits.memory, cpus: limits.cpus, ..SandboxLimits::default() };
        entry.reserve(&caller, &wanted)?;
        if let Err(error) = entry.sandbox.change_limits(limits).await {
            entry.reserve(&caller, &before)?;
            return Err(error.into());
        }
    }
    let now = crate::clock::now_ms();
    entry.change(|state| {
        state.limits.memory = limits.memory.or(state.limits.memory);
        state.limits.cpus = limits.cpus.or(state.limits.cpus);
        state.limits.pids = limits.pids.or(state.limits.pids);
        if let Some(name) = change.project_name {
            state.project_name = name;
        }
        if let Some(labels) = change.labels {
            state.labels = labels;
        }
        if let Some(ttl) = change.ttl {
            state.expires_ms = Some(now.saturating_add(i64::try_from(ttl.0.as_millis()).unwrap_or(i64::MAX)));
        }
        state.idle = change.idle_timeout.map(|idle| idle.0).or(state.idle);
        state.timeout = change.timeout.map(|timeout| timeout.0).or(state.timeout);
    });
    sandboxes.update_record(&entry)?;
    Ok(Json(entry.view()))
}

/// Destroy a sandbox.
#[utoipa::path(delete, path = "/api/sandboxes/{id}", tag = "sandboxes", params(("id" = String, Path)),
    responses((status = 204, description = "Destroyed."), (status = 404, description = "Sandbox not found.", body = ErrorBody)))]
pub(super) async fn destroy(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    // Spawned, so that a disconnected caller does not interrupt it.
    let destruction = tokio::spawn(async move { sandboxes.destroy(&entry, "requested").await });
    destruction
        .await
        .map_err(|error| ApiError::internal(format!("failed to destroy the sandbox: {error}")))??;
    Ok(StatusCode::NO_CONTENT)
}

macro_rules! changes_state {
    ($($(#[$documentation:meta])* $name:ident, $path:literal, |$sandboxes:ident, $entry:ident| $change:expr;)+) => {$(
        $(#[$documentation])*
        #[utoipa::path(post, path = $path, tag = "sandboxes", params(("id" = String, Path)),
            responses((status = 200, body = SandboxView),
                (status = 404, description = "Sandbox not found.", body = ErrorBody),
                (status = 409, description = "Not allowed in the current state of the sandbox.", body = ErrorBody),
                (status = 410, description = "The sandbox no longer exists.", body = ErrorBody)))]
        pub(super) async fn $name(
            State($sandboxes): State<SharedSandboxes>,
            caller: Caller,
            PathParams(id): PathParams<String>,
        ) -> Result<Json<SandboxView>, ApiError> {
            let $entry = $sandboxes.find(&caller, &id)?;
            $change.await?;
            Ok(Json($entry.view()))
        }
    )+};
}

changes_state! {
    /// Start a stopped sandbox.
    start, "/api/sandboxes/{id}/start", |sandboxes, entry| sandboxes.start(&entry);
    /// Stop a sandbox: end its processes, keep its files.
    stop, "/api/sandboxes/{id}/stop", |sandboxes, entry| sandboxes.stop(&entry, "requested");
    /// Pause a sandbox.
    pause, "/api/sandboxes/{id}/pause", |sandboxes, entry| sandboxes.pause(&entry);
    /// Resume a paused sandbox.
    resume, "/api/sandboxes/{id}/resume", |sandboxes, entry| sandboxes.resume(&entry);
}

/// Maximum age in hours, more than a century.
const MAX_HOURS: f64 = 1_000_000.0;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct CleanupQuery {
    /// Minimum age in hours; default 24.
    #[param(minimum = 0, maximum = 1_000_000)]
    hours: Option<f64>,
}

/// Number of destroyed sandboxes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CleanupResponse {
    destroyed: usize,
}

/// Destroy sandboxes older than an age.
#[utoipa::path(post, path = "/api/sandboxes/cleanup", tag = "sandboxes", params(CleanupQuery),
    responses((status = 200, body = CleanupResponse), (status = 422, description = "Invalid number of hours.", body = ErrorBody)))]
pub(super) async fn cleanup(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    QueryParams(older): QueryParams<CleanupQuery>,
) -> Result<Json<CleanupResponse>, ApiError> {
    let hours = older.hours.unwrap_or(24.0);
    if !(0.0..=MAX_HOURS).contains(&hours) {
        return Err(ApiError::invalid(format!("hours: 0 to {MAX_HOURS}")));
    }
    let age = Duration::from_secs_f64(hours * 3600.0);
    Ok(Json(CleanupResponse { destroyed: sandboxes.clean_up(&caller, age).await }))
}

/// Get the isolation of a sandbox as reported by the kernel.
#[utoipa::path(get, path = "/api/sandboxes/{id}/isolation", tag = "sandboxes", params(("id" = String, Path)),
    responses((status = 200, body = Object),
        (status = 404, description = "Sandbox not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody)))]
pub(super) async fn isolation(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<Json<SandboxIsolation>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    entry.check_not_paused()?;
    Ok(Json(entry.sandbox.isolation().await?))
}
