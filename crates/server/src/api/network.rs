//! What a sandbox can reach, and what was seen of that.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use menace_model::network::NetworkReport;

use super::Shared;
use super::caller::{Body, Named};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, Rules};

/// What was seen on the network of a sandbox
#[utoipa::path(get, path = "/api/sandboxes/{id}/network", tag = "network", params(("id" = String, Path)),
    responses((status = 200, description = "Every flow: where to, what became of it, bytes, delays.", body = Object),
        (status = 404, description = "There is no such sandbox.", body = ErrorBody)))]
pub(super) async fn report(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<NetworkReport>, ApiError> {
    Ok(Json(sandboxes.find(&caller, &id)?.sandbox.network().await?))
}

/// Let other rules hold on the network of a sandbox
#[utoipa::path(put, path = "/api/sandboxes/{id}/network", tag = "network", params(("id" = String, Path)),
    request_body = Rules,
    responses((status = 204, description = "They hold. Connections that they do not allow are broken off."),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox.", body = ErrorBody),
        (status = 409, description = "The sandbox was made without a network.", body = ErrorBody),
        (status = 410, description = "It is gone.", body = ErrorBody),
        (status = 415, description = "The body is not said to be JSON.", body = ErrorBody),
        (status = 422, description = "No such rules, or the sandbox was made without a network.", body = ErrorBody)))]
pub(super) async fn change(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
    Body(rules): Body<Rules>,
) -> Result<StatusCode, ApiError> {
    sandboxes.find(&caller, &id)?.sandbox.change_network(*rules.0).await?;
    Ok(StatusCode::NO_CONTENT)
}
