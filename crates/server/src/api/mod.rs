//! The REST API of whoever holds sandboxes.

#![expect(unused_qualifications, reason = "what utoipa's macros write is not ours")]

mod archive;
mod caller;
mod commands;
mod docs;
mod files;
mod lifecycle;
mod list;
mod network;
mod ports;
mod processes;
mod snapshots;
mod stats;
mod streams;
mod terminal;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::any;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use caller::CALLER_HEADER;
pub use commands::StreamEvent;

use crate::error::ApiError;
use crate::sandboxes::Sandboxes;

/// What handlers share.
pub type Shared = Arc<Sandboxes>;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "menace sandboxes",
        description = "Sandboxes for programs that nobody trusts yet: make one, run commands in it, see what they did.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    tags(
        (name = "sandboxes", description = "Making, finding, stopping, destroying"),
        (name = "commands", description = "Commands to their end, streamed, in the background, on a terminal"),
        (name = "files", description = "Files in and out"),
        (name = "snapshots", description = "Copies of files, and sandboxes made of them"),
        (name = "network", description = "What a sandbox can reach, and who reaches it"),
        (name = "service", description = "The service itself"),
    )
)]
struct Document;

/// The routes, and what describes them.
fn described() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(list::list, lifecycle::create))
        .routes(routes!(lifecycle::cleanup))
        .routes(routes!(lifecycle::get, lifecycle::change, lifecycle::destroy))
        .routes(routes!(lifecycle::start))
        .routes(routes!(lifecycle::stop))
        .routes(routes!(lifecycle::pause))
        .routes(routes!(lifecycle::resume))
        .routes(routes!(lifecycle::isolation))
        .routes(routes!(commands::execute))
        .routes(routes!(commands::exec))
        .routes(routes!(processes::list, processes::start))
        .routes(routes!(processes::get, processes::end))
        .routes(routes!(processes::events))
        .routes(routes!(processes::logs))
        .routes(routes!(processes::signal))
        .routes(routes!(processes::stdin))
        .routes(routes!(terminal::terminal))
        .routes(routes!(files::get, files::put, files::change, files::remove))
        .routes(routes!(files::watch))
        .routes(routes!(snapshots::list, snapshots::take))
        .routes(routes!(snapshots::fork))
        .routes(routes!(snapshots::all))
        .routes(routes!(snapshots::forget))
        .routes(routes!(stats::stats))
        .routes(routes!(stats::changes))
        .routes(routes!(network::report, network::change))
        .routes(routes!(streams::events))
        .routes(routes!(docs::capabilities))
        .routes(routes!(docs::healthz))
        .routes(routes!(docs::readyz))
}

/// A rest of a path has a mark for the router, which no document has.
fn as_written_elsewhere(mut document: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    let paths = std::mem::take(&mut document.paths.paths);
    document.paths.paths = paths.into_iter().map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    document
}

/// What describes the API, as JSON.
pub fn openapi() -> utoipa::openapi::OpenApi {
    as_written_elsewhere(described().into_openapi())
}

/// Everything that is served to callers that were let in.
pub fn router(sandboxes: Shared) -> Router {
    let (router, document) = described().split_for_parts();
    let document = as_written_elsewhere(document);
    router
        // A proxy for whatever a program inside speaks; that is no part of the document.
        .route("/api/sandboxes/{id}/ports/{port}", any(ports::proxy))
        .route("/api/sandboxes/{id}/ports/{port}/", any(ports::proxy))
        .route("/api/sandboxes/{id}/ports/{port}/{*path}", any(ports::proxy))
        .route("/metrics", axum::routing::get(docs::metrics))
        .merge(docs::browsable(document))
        .fallback(nothing_there)
        .method_not_allowed_fallback(wrong_method)
        .with_state(sandboxes)
}

async fn nothing_there(uri: axum::http::Uri) -> impl IntoResponse {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", format!("there is nothing at {}", uri.path()))
        .hint("GET /api/docs shows what there is")
}

async fn wrong_method(method: axum::http::Method, uri: axum::http::Uri) -> impl IntoResponse {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        format!("{method} means nothing for {}", uri.path()),
    )
    .hint("GET /api/docs shows what there is")
}
