//! Description of the service: OpenAPI document, health, capabilities, metrics.

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use menace_model::sandbox::Capabilities;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_swagger_ui::SwaggerUi;

use super::Shared;
use super::caller::Asked;
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::BackendName;

/// Serves the OpenAPI document at `/api/openapi.json` and Swagger UI at `/api/docs`.
pub(super) fn browsable(document: utoipa::openapi::OpenApi) -> Router<Shared> {
    SwaggerUi::new("/api/docs").url("/api/openapi.json", document).into()
}

/// Health of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandboxes: Option<usize>,
}

/// Check that the service is running.
#[utoipa::path(get, path = "/healthz", tag = "service", responses((status = 200, body = Health)))]
pub(super) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok".to_owned(), backend: None, sandboxes: None })
}

/// Check that the service can create sandboxes.
#[utoipa::path(get, path = "/readyz", tag = "service",
    responses((status = 200, body = Health),
        (status = 503, description = "The host does not support isolation, or the backend could not be started.", body = ErrorBody)))]
pub(super) async fn readyz(State(sandboxes): State<Shared>) -> Result<Json<Health>, ApiError> {
    let backend = sandboxes.check().await.map_err(ApiError::not_ready)?;
    Ok(Json(Health {
        status: "ok".to_owned(),
        backend: Some(backend.name().to_owned()),
        sandboxes: Some(sandboxes.len()),
    }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichBackend {
    /// Backend; default: chosen by the server.
    backend: Option<BackendName>,
}

/// Get the capabilities of a backend on this host.
#[utoipa::path(get, path = "/api/capabilities", tag = "service", params(WhichBackend),
    responses((status = 200, body = Object),
        (status = 409, description = "The backend is not available on this host.", body = ErrorBody),
        (status = 422, description = "Unknown backend.", body = ErrorBody)))]
pub(super) async fn capabilities(
    State(sandboxes): State<Shared>,
    Asked(which): Asked<WhichBackend>,
) -> Result<Json<Capabilities>, ApiError> {
    Ok(Json(sandboxes.capabilities(which.backend).await?))
}

/// Prometheus metrics.
pub(super) async fn metrics(State(sandboxes): State<Shared>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, crate::metrics::CONTENT_TYPE)], sandboxes.metrics.text())
}
