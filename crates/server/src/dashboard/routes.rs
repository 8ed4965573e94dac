//! Routes of the dashboard.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::state::{DashboardSources, DashboardState};
use super::{
    assets, calls, cell, events, guard, history, legacy, logs, matrix, module_graph, patches, response_cache,
    runs, series,
};
use crate::error::ApiError;
use crate::exporter::{DirectoryMetricsSource, MetricsSource, answer};

/// Path prefix of the dashboard's API.
const DATA: &str = "/api/dashboard";

/// The dashboard of a data directory.
#[derive(Clone)]
pub struct Dashboard {
    router: Router,
    figures: Arc<DirectoryMetricsSource>,
    place: Arc<DashboardState>,
}

impl Dashboard {
    /// Creates the dashboard of these sources.
    pub fn new(sources: DashboardSources) -> Self {
        let figures = Arc::new(DirectoryMetricsSource::new(sources.data.clone(), sources.database.clone()));
        let scraped = Arc::clone(&figures);
        let place = Arc::new(DashboardState::new(sources));
        let router = Router::new()
            .route("/metrics", get(move || async move { answer(&*scraped).await }))
            .nest(DATA, data().layer(from_fn_with_state(Arc::clone(&place.answers), response_cache::share)))
            .route("/roi", get(legacy::roi))
            .route("/roi_data", get(legacy::roi_data))
            .route("/weights", get(legacy::weights))
            .route("/metrics/{name}", get(legacy::metric))
            .route("/plots/{file}", get(legacy::predictions))
            .fallback(page)
            .layer(from_fn(guard::protect))
            .with_state(Arc::clone(&place));
        Self { router, figures, place }
    }

    /// Metrics of the data directory in the Prometheus text format.
    pub(crate) async fn figures(&self) -> Result<String, String> {
        self.figures.text().await
    }

    /// True if a client follows the event stream.
    pub fn is_followed(&self) -> bool {
        self.place.feed.is_followed()
    }

    /// Handles an authenticated request.
    pub async fn answer(&self, request: Request) -> Response {
        use tower::ServiceExt;
        match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// Router that accepts only local requests.
    pub(super) fn local_router(self) -> Router {
        self.router.layer(from_fn(guard::require_local))
    }
}

fn data() -> Router<Arc<DashboardState>> {
    Router::new()
        .route("/about", get(runs::about))
        .route("/settings", get(runs::settings))
        .route("/runs", get(runs::list))
        .route("/runs/{run}", get(runs::show))
        .route("/runs/{run}/progress", get(runs::progress_counts))
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
        .route("/modules", get(module_graph::modules))
        .route("/logs", get(logs::list))
        .route("/logs/{name}", get(logs::show))
        .route("/events", get(events::list))
        .route("/events/stream", get(events::stream))
        .fallback(not_found)
}

async fn page(uri: Uri) -> Response {
    assets::answer(uri.path())
}

async fn not_found(uri: Uri) -> impl IntoResponse {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", format!("no resource at {}", uri.path()))
}

/// True if a path is a static file of the dashboard, which contains no secrets.
pub fn is_page(path: &str) -> bool {
    assets::find(path).is_some()
}

/// True if the dashboard serves a path, false if the sandbox daemon does.
pub fn is_dashboard_path(path: &str) -> bool {
    let below = |start: &str| path.strip_prefix(start).is_some_and(|rest| rest.starts_with('/'));
    is_page(path)
        || below(DATA)
        || below("/metrics")
        || below("/plots")
        || matches!(path, "/roi" | "/roi_data" | "/weights")
}
