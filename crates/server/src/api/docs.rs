//! What describes the service: its document, its health, what it can do.

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

/// The document at `/api/openapi.json`, and a page to browse it at `/api/docs`.
pub(super) fn browsable(document: utoipa::openapi::OpenApi) -> Router<Shared> {
    SwaggerUi::new("/api/docs").url("/api/openapi.json", document).into()
}

/// Whether it is well.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandboxes: Option<usize>,
}

/// Whether it runs
#[utoipa::path(get, path = "/healthz", tag = "service", responses((status = 200, body = Health)))]
pub(super) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok".to_owned(), backend: None, sandboxes: None })
}

/// Whether it can make sandboxes
#[utoipa::path(get, path = "/readyz", tag = "service",
    responses((status = 200, body = Health),
        (status = 503, description = "This host cannot isolate, or the backend cannot be started.", body = ErrorBody)))]
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
    /// Of which backend; the usual one without this.
    backend: Option<BackendName>,
}

/// What a backend can do on this host
#[utoipa::path(get, path = "/api/capabilities", tag = "service", params(WhichBackend),
    responses((status = 200, body = Object),
        (status = 409, description = "The backend cannot be had on this host.", body = ErrorBody),
        (status = 422, description = "No such backend.", body = ErrorBody)))]
pub(super) async fn capabilities(
    State(sandboxes): State<Shared>,
    Asked(which): Asked<WhichBackend>,
) -> Result<Json<Capabilities>, ApiError> {
    Ok(Json(sandboxes.capabilities(which.backend).await?))
}

/// What is counted, for Prometheus.
pub(super) async fn metrics(State(sandboxes): State<Shared>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, crate::metrics::CONTENT_TYPE)], sandboxes.metrics.text())
}
