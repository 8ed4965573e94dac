//! The protocol over HTTP: one address, a message in, its answer out.

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

/// Answers at `/mcp`.
pub fn router(mcp: Mcp) -> Router {
    Router::new().route("/mcp", post(message)).with_state(Arc::new(mcp))
}

async fn message(State(mcp): State<Arc<Mcp>>, headers: HeaderMap, body: Bytes) -> Response {
    // A page of the internet in a browser of this machine must not have these tools.
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
    if !is_of_this_machine(host, origin) {
        return (StatusCode::FORBIDDEN, "only this machine may ask").into_response();
    }
    match mcp.answer(&body).await {
        Some(answer) => axum::Json(answer).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}
