//! Description of the service: `OpenAPI` document, health, capabilities, metrics.

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use menace_model::sandbox::BackendCapabilities;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_swagger_ui::SwaggerUi;

use super::SharedSandboxes;
use super::extractors::QueryParams;
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::BackendName;

/// Serves the `OpenAPI` document at `/api/openapi.json` and Swagger UI at `/api/docs`.
pub(super) fn browsable(document: utoipa::openapi::OpenApi) -> Router<SharedSandboxes> {
    SwaggerUi::new("/api/docs").url("/api/openapi.json", document).into()
}

/// Health of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ServiceHealth {
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandboxes: Option<usize>,
}

/// Check that the service is running.
#[utoipa::path(get, path = "/healthz", tag = "service", responses((status = 200, body = ServiceHealth)))]
pub(super) async fn healthz() -> Json<ServiceHealth> {
    Json(ServiceHealth { status: "ok".to_owned(), backend: None, sandboxes: None })
}

/// Check that the service can create sandboxes.
#[utoipa::path(get, path = "/readyz", tag = "service",
    responses((status = 200, body = ServiceHealth),
        (status = 503, description = "The host does not support isolation, or the backend could not be started.", body = ErrorBody)))]
pub(super) async fn readyz(
    State(sandboxes): State<SharedSandboxes>,
) -> Result<Json<ServiceHealth>, ApiError> {
    let backend = sandboxes.check().await.map_err(ApiError::not_ready)?;
    Ok(Json(ServiceHealth {
        status: "ok".to_owned(),
        backend: Some(backend.name().to_owned()),
        sandboxes: Some(sandboxes.len()),
    }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct CapabilitiesQuery {
    /// Backend; default: chosen by the server.
    backend: Option<BackendName>,
}

/// Get the capabilities of a backend on this host.
#[utoipa::path(get, path = "/api/capabilities", tag = "service", params(CapabilitiesQuery),
    responses((status = 200, body = Object),
        (status = 409, description = "The backend is not available on this host.", body = ErrorBody),
        (status = 422, description = "Unknown backend.", body = ErrorBody)))]
pub(super) async fn capabilities(
    State(sandboxes): State<SharedSandboxes>,
    QueryParams(which): QueryParams<CapabilitiesQuery>,
) -> Result<Json<BackendCapabilities>, ApiError> {
    Ok(Json(sandboxes.capabilities(which.backend).await?))
}

/// Prometheus metrics.
pub(super) async fn metrics(State(sandboxes): State<SharedSandboxes>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, crate::metrics::CONTENT_TYPE)], sandboxes.metrics.text())
}
