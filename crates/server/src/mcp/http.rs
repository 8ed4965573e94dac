//! MCP over HTTP: one endpoint that receives a message and returns its response.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;

use super::McpServer;
use crate::gateway::is_local_request;

/// Router that serves `/mcp`.
pub fn router(mcp: McpServer) -> Router {
    Router::new().route("/mcp", post(message)).with_state(Arc::new(mcp))
}

async fn message(State(mcp): State<Arc<McpServer>>, headers: HeaderMap, body: Bytes) -> Response {
    // A web page in a local browser must not be able to use these tools.
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
    if !is_local_request(host, origin) {
        return (StatusCode::FORBIDDEN, "only local requests are allowed").into_response();
    }
    match mcp.answer(&body).await {
        Some(answer) => axum::Json(answer).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}
