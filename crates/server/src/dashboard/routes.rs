//! What is where.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::place::{Place, Sources};
use super::{
    assets, calls, cell, events, graph, guard, history, logs, matrix, patches, runs, seeds, series, shared,
};
use crate::error::ApiError;
use crate::exporter::{Collect, Figures, answer};

/// Where our own requests are, beside those of sandboxes.
const DATA: &str = "/api/dashboard";

/// The dashboard of a data directory.
#[derive(Clone)]
pub struct Dashboard {
    router: Router,
    figures: Arc<Figures>,
    place: Arc<Place>,
}

impl Dashboard {
    /// Of these sources.
    pub fn new(sources: Sources) -> Self {
        let figures = Arc::new(Figures::new(sources.data.clone(), sources.database.clone()));
        let asked = Arc::clone(&figures);
        let place = Arc::new(Place::new(sources));
        let router = Router::new()
            .route("/metrics", get(move || async move { answer(&*asked).await }))
            .nest(DATA, data().layer(from_fn_with_state(Arc::clone(&place.answers), shared::share)))
            .route("/roi", get(seeds::roi))
            .route("/roi_data", get(seeds::roi_data))
            .route("/weights", get(seeds::weights))
            .route("/metrics/{name}", get(seeds::metric))
            .route("/plots/{file}", get(seeds::predictions))
            .fallback(page)
            .layer(from_fn(guard::protect))
            .with_state(Arc::clone(&place));
        Self { router, figures, place }
    }

    /// What is known of the data directory, as Prometheus reads it.
    pub(crate) async fn figures(&self) -> Result<String, String> {
        self.figures.text().await
    }

    /// Whether somebody looks now.
    pub fn is_followed(&self) -> bool {
        self.place.feed.is_followed()
    }

    /// Answers a request that was let in.
    pub async fn answer(&self, request: Request) -> Response {
        use tower::ServiceExt;
        match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// The routes, for a server of this machine alone.
    pub(super) fn for_this_machine(self) -> Router {
        self.router.layer(from_fn(guard::only_this_machine))
    }
}

fn data() -> Router<Arc<Place>> {
    Router::new()
        .route("/about", get(runs::about))
        .route("/settings", get(runs::settings))
        .route("/runs", get(runs::list))
        .route("/runs/{run}", get(runs::show))
        .route("/runs/{run}/progress", get(runs::pace))
        .route("/runs/{run}/matrix", get(matrix::matrix))
        .route("/runs/{run}/cell", get(cell::cell))
        .route("/runs/{run}/failures", get(cell::failures))
        .route("/runs/{run}/calls", get(calls::list))
        .route("/calls/{call}", get(calls::show))
        .route("/runs/{run}/patches", get(patches::list))
        .route("/runs/{run}/patches/{number}", get(patches::show))
        .route("/runs/{run}/patches/{number}/decision", post(patches::decide))
        .route("/roi", get(history::roi))
        .route("/synergy", get(history::synergy))
        .route("/metrics", get(series::names))
        .route("/metrics/{name}", get(series::show))
        .route("/modules", get(graph::modules))
        .route("/logs", get(logs::list))
        .route("/logs/{name}", get(logs::show))
        .route("/events", get(events::list))
        .route("/events/stream", get(events::stream))
        .fallback(nothing_there)
}

async fn page(uri: Uri) -> Response {
    assets::answer(uri.path())
}

async fn nothing_there(uri: Uri) -> impl IntoResponse {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", format!("there is nothing at {}", uri.path()))
}

/// Whether a path is a file of the page itself, which has no secrets.
pub fn is_page(path: &str) -> bool {
    assets::find(path).is_some()
}

/// Whether the dashboard answers for a path, and not who holds sandboxes.
pub fn is_ours(path: &str) -> bool {
    let below = |start: &str| path.strip_prefix(start).is_some_and(|rest| rest.starts_with('/'));
    is_page(path)
        || below(DATA)
        || below("/metrics")
        || below("/plots")
        || matches!(path, "/roi" | "/roi_data" | "/weights")
}
