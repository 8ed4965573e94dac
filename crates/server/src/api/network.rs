//! Network policy and network report of a sandbox.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use menace_model::network::NetworkReport;

use super::SharedSandboxes;
use super::extractors::{JsonBody, PathParams};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, SandboxNetworkRules};

/// Get the network report of a sandbox.
#[utoipa::path(get, path = "/api/sandboxes/{id}/network", tag = "network", params(("id" = String, Path)),
    responses((status = 200, description = "All flows: destination, outcome, bytes, delays.", body = Object),
        (status = 404, description = "Sandbox not found.", body = ErrorBody)))]
pub(super) async fn report(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
) -> Result<Json<NetworkReport>, ApiError> {
    Ok(Json(sandboxes.find(&caller, &id)?.sandbox.network().await?))
}

/// Replace the network policy of a sandbox.
#[utoipa::path(put, path = "/api/sandboxes/{id}/network", tag = "network", params(("id" = String, Path)),
    request_body = SandboxNetworkRules,
    responses((status = 204, description = "The policy is in effect. Connections that it does not allow are closed."),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 404, description = "Sandbox not found.", body = ErrorBody),
        (status = 409, description = "The sandbox was created without a network.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 415, description = "Content-Type is not JSON.", body = ErrorBody),
        (status = 422, description = "Invalid rules, or the sandbox was created without a network.", body = ErrorBody)))]
pub(super) async fn change(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
    JsonBody(rules): JsonBody<SandboxNetworkRules>,
) -> Result<StatusCode, ApiError> {
    sandboxes.find(&caller, &id)?.sandbox.change_network(*rules.0).await?;
    Ok(StatusCode::NO_CONTENT)
}
