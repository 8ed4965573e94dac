//! Making, changing, stopping and destroying sandboxes.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use menace_model::sandbox::{Isolation, Limits, LimitsChange};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Shared;
use super::caller::{Asked, Body, Named, Raw, object};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, CpuShare, CreateSandbox, SandboxView, Size, Span, labels_or_nothing};

/// Make a sandbox
#[utoipa::path(post, path = "/api/sandboxes", tag = "sandboxes", request_body = CreateSandbox,
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256, pattern = "^[!-~]+$", description = "The same key with the same body makes one sandbox, however often it is sent.")),
    responses(
        (status = 201, description = "It is ready for commands.", body = SandboxView),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 403, description = "The key may not have that much.", body = ErrorBody),
        (status = 415, description = "The body is not said to be JSON.", body = ErrorBody),
        (status = 404, description = "There is no such snapshot.", body = ErrorBody),
        (status = 409, description = "This host, or this backend, cannot give that, or the key was used for something else.", body = ErrorBody),
        (status = 410, description = "What was made for this key is gone.", body = ErrorBody),
        (status = 422, description = "It cannot be made as it is asked for.", body = ErrorBody),
        (status = 503, description = "There are too many sandboxes.", body = ErrorBody),
    ))]
pub(super) async fn create(
    State(sandboxes): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Raw(body): Raw,
) -> Result<(StatusCode, Json<SandboxView>), ApiError> {
    let is_json = |kind: &str| kind.split(';').next().is_some_and(|kind| kind.trim().ends_with("json"));
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(is_json) {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "the body is not said to be JSON",
        )
        .hint("send the header Content-Type: application/json"));
    }
    let read = serde_json::from_slice(&body)
        .map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, "not_json", error.to_string()))?;
    let wanted: CreateSandbox = object(read)?;
    let key = headers.get("idempotency-key").map(idempotency_key).transpose()?;
    let entry = sandboxes.create_once(&caller, key, wanted, &body).await?;
    Ok((StatusCode::CREATED, Json(entry.view())))
}

/// A key as its caller wrote it. One that could not be kept would let a second sandbox be made.
fn idempotency_key(header: &HeaderValue) -> Result<&str, ApiError> {
    let key = header.to_str().ok().filter(|key| (1..=256).contains(&key.len()));
    key.filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()))
        .ok_or_else(|| ApiError::invalid("Idempotency-Key: 1 to 256 visible characters of ASCII"))
}

/// See a sandbox
#[utoipa::path(get, path = "/api/sandboxes/{id}", tag = "sandboxes", params(("id" = String, Path)),
    responses((status = 200, body = SandboxView), (status = 404, description = "There is no such sandbox.", body = ErrorBody)))]
pub(super) async fn get(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<SandboxView>, ApiError> {
    Ok(Json(sandboxes.find(&caller, &id)?.view()))
}

/// What can be changed while a sandbox runs; what is not named stays.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChangeSandbox {
    /// What its owner calls it.
    #[schema(max_length = 256)]
    project_name: Option<String>,
    /// The most memory.
    memory_limit: Option<Size>,
    /// The most CPU cores.
    cpu_limit: Option<CpuShare>,
    /// The most processes and threads.
    #[schema(minimum = 2, maximum = 4_194_304)]
    pids_limit: Option<u64>,
    /// When it is destroyed, counted from now.
    ttl: Option<Span>,
    /// After how long without a request its processes end.
    idle_timeout: Option<Span>,
    /// How long a command may take that does not say it itself.
    timeout: Option<Span>,
    /// All of its labels.
    #[schema(schema_with = labels_or_nothing)]
    labels: Option<BTreeMap<String, String>>,
}

/// Change limits, labels and times of a sandbox that runs
#[utoipa::path(patch, path = "/api/sandboxes/{id}", tag = "sandboxes", params(("id" = String, Path)), request_body = ChangeSandbox,
    responses((status = 200, body = SandboxView),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 403, description = "The key may not have that much.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox.", body = ErrorBody),
        (status = 409, description = "This host, or this backend, cannot give that.", body = ErrorBody),
        (status = 410, description = "It is gone.", body = ErrorBody),
        (status = 415, description = "The body is not said to be JSON.", body = ErrorBody),
        (status = 422, description = "It cannot be changed so.", body = ErrorBody)))]
pub(super) async fn change(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
    Body(change): Body<ChangeSandbox>,
) -> Result<Json<SandboxView>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    let checked = CreateSandbox {
        project_name: change.project_name.clone().unwrap_or_default(),
        labels: change.labels.clone().unwrap_or_default(),
        ..CreateSandbox::default()
    };
    checked.check()?;
    let limits = LimitsChange {
        memory: change.memory_limit.map(|size| size.0),
        cpus: change.cpu_limit.map(|share| share.0),
        pids: change.pids_limit,
    };
    if limits != LimitsChange::default() {
        let before = entry.now().limits;
        let wanted = Limits { memory: limits.memory, cpus: limits.cpus, ..Limits::default() };
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
    sandboxes.write_down_changes(&entry)?;
    Ok(Json(entry.view()))
}

/// Destroy a sandbox
#[utoipa::path(delete, path = "/api/sandboxes/{id}", tag = "sandboxes", params(("id" = String, Path)),
    responses((status = 204, description = "It is gone."), (status = 404, description = "There is no such sandbox.", body = ErrorBody)))]
pub(super) async fn destroy(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<StatusCode, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    // To its end, even if nobody waits for it.
    let ending = tokio::spawn(async move { sandboxes.destroy(&entry, "it was asked for").await });
    ending.await.map_err(|error| ApiError::internal(format!("a sandbox did not end: {error}")))??;
    Ok(StatusCode::NO_CONTENT)
}

macro_rules! changes_state {
    ($($(#[$documentation:meta])* $name:ident, $path:literal, |$sandboxes:ident, $entry:ident| $change:expr;)+) => {$(
        $(#[$documentation])*
        #[utoipa::path(post, path = $path, tag = "sandboxes", params(("id" = String, Path)),
            responses((status = 200, body = SandboxView),
                (status = 404, description = "There is no such sandbox.", body = ErrorBody),
                (status = 409, description = "Not in the state that it is in.", body = ErrorBody),
                (status = 410, description = "It is gone.", body = ErrorBody)))]
        pub(super) async fn $name(
            State($sandboxes): State<Shared>,
            caller: Caller,
            Named(id): Named<String>,
        ) -> Result<Json<SandboxView>, ApiError> {
            let $entry = $sandboxes.find(&caller, &id)?;
            $change.await?;
            Ok(Json($entry.view()))
        }
    )+};
}

changes_state! {
    /// Make a stopped sandbox ready for commands
    start, "/api/sandboxes/{id}/start", |sandboxes, entry| sandboxes.start(&entry);
    /// End all processes of a sandbox; its files stay
    stop, "/api/sandboxes/{id}/stop", |sandboxes, entry| sandboxes.stop(&entry, "it was asked for");
    /// Let all processes of a sandbox stand still
    pause, "/api/sandboxes/{id}/pause", |sandboxes, entry| sandboxes.pause(&entry);
    /// Let them go on
    resume, "/api/sandboxes/{id}/resume", |sandboxes, entry| sandboxes.resume(&entry);
}

/// More than a century.
const MOST_HOURS: f64 = 1_000_000.0;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Older {
    /// Sandboxes that were made longer ago.
    #[param(minimum = 0, maximum = 1_000_000)]
    hours: Option<f64>,
}

/// How many sandboxes were destroyed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CleanedUp {
    destroyed: usize,
}

/// Destroy sandboxes that were made long ago
#[utoipa::path(post, path = "/api/sandboxes/cleanup", tag = "sandboxes", params(Older),
    responses((status = 200, body = CleanedUp), (status = 422, description = "No number of hours.", body = ErrorBody)))]
pub(super) async fn cleanup(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Asked(older): Asked<Older>,
) -> Result<Json<CleanedUp>, ApiError> {
    let hours = older.hours.unwrap_or(24.0);
    if !(0.0..=MOST_HOURS).contains(&hours) {
        return Err(ApiError::invalid(format!("hours: 0 to {MOST_HOURS}")));
    }
    let age = Duration::from_secs_f64(hours * 3600.0);
    Ok(Json(CleanedUp { destroyed: sandboxes.clean_up(&caller, age).await }))
}

/// What the kernel says about the isolation of a sandbox
#[utoipa::path(get, path = "/api/sandboxes/{id}/isolation", tag = "sandboxes", params(("id" = String, Path)),
    responses((status = 200, body = Object),
        (status = 404, description = "There is no such sandbox.", body = ErrorBody),
        (status = 409, description = "It is paused.", body = ErrorBody),
        (status = 410, description = "It is gone.", body = ErrorBody)))]
pub(super) async fn isolation(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<Isolation>, ApiError> {
    let entry = sandboxes.find(&caller, &id)?;
    entry.check_not_paused()?;
    Ok(Json(entry.sandbox.isolation().await?))
}
