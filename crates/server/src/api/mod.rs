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
use axum::middleware::from_fn;
use axum::response::IntoResponse;
use axum::routing::any;
use utoipa::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use caller::CALLER_HEADER;
pub use commands::StreamEvent;
pub(crate) use terminal::PROTOCOL as TERMINAL_PROTOCOL;

use crate::error::ApiError;
use crate::sandboxes::Sandboxes;
use crate::traces;

/// What handlers share.
pub type Shared = Arc<Sandboxes>;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "menace sandboxes",
        description = "Sandboxes for programs that nobody trusts yet: make one, run commands in it, see what they did.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(files::GetForm, files::PutForm, processes::LogStream)),
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
    for (path, mut item) in paths {
        let path = path.replace("{*", "{");
        let operations = [
            ("get", &mut item.get),
            ("put", &mut item.put),
            ("post", &mut item.post),
            ("patch", &mut item.patch),
            ("delete", &mut item.delete),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                operation.operation_id = Some(operation_name(method, &path));
                answered_by_others(operation);
            }
        }
        document.paths.paths.insert(path, item);
    }
    document
}

/// A name that no other operation has, as generators of clients want it.
fn operation_name(method: &str, path: &str) -> String {
    let words = path.trim_start_matches("/api/").split(['/', '{', '}']).filter(|word| !word.is_empty());
    words.fold(method.to_owned(), |name, word| name + "_" + word)
}

/// What whoever lets callers in answers, whatever is asked.
fn answered_by_others(operation: &mut Operation) {
    for (status, description) in [
        ("401", "No key, or one that is not good."),
        ("403", "It is not allowed."),
        ("413", "It is too large."),
        ("429", "That is more than may be asked."),
        ("502", "Whoever holds sandboxes did not answer."),
        ("503", "Whoever holds sandboxes cannot be started."),
    ] {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
        let response = ResponseBuilder::new().description(description).content("application/json", content);
        let responses = &mut operation.responses.responses;
        responses.entry(status.to_owned()).or_insert_with(|| response.build().into());
    }
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
        .route_layer(from_fn(traces::follow))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn the_document_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        let document = super::openapi().to_pretty_json().unwrap() + "\n";
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &document).unwrap();
        }
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(page == document, "docs/openapi.json is old; run with UPDATE_DOCS=1 to write it anew");
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_and_every_reference_leads_somewhere() {
        let document = serde_json::to_value(super::openapi()).unwrap();
        let mut names = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            assert!(!path.contains('*'), "{path}");
            for (method, operation) in item.as_object().unwrap() {
                let name = operation["operationId"].as_str().unwrap().to_owned();
                assert!(names.insert(name), "{method} {path}");
            }
        }
        let text = document.to_string();
        for reference in text.split("\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(document["components"]["schemas"][name].is_object(), "{name} is nowhere");
        }
    }
}
