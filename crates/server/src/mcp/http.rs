//! MCP over HTTP: one endpoint that receives a message and returns its response.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;

use super::Mcp;
use crate::front::is_of_this_machine;

/// Router that serves `/mcp`.
pub fn router(mcp: Mcp) -> Router {
    Router::new().route("/mcp", post(message)).with_state(Arc::new(mcp))
}

async fn message(State(mcp): State<Arc<Mcp>>, headers: HeaderMap, body: Bytes) -> Response {
    // A web page in a local browser must not be able to use these tools.
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
    if !is_of_this_machine(host, origin) {
        return (StatusCode::FORBIDDEN, "only local requests are allowed").into_response();
    }
    match mcp.answer(&body).await {
        Some(answer) => axum::Json(answer).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}
