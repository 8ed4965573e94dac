//! A port of this machine at which Prometheus asks.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use thiserror::Error;
use tokio::net::TcpListener;

use crate::metrics::CONTENT_TYPE;

/// Who knows the values.
pub trait Collect: Send + Sync + 'static {
    /// All of them as they are now, as Prometheus reads them, or why that cannot be said.
    fn text(&self) -> impl Future<Output = Result<String, String>> + Send;
}

/// Why nobody can ask.
#[derive(Debug, Error)]
pub enum ExporterError {
    /// The port cannot be used.
    #[error(
        "failed to listen on {address} for Prometheus: {source}\nhint: choose another port ({variable}, --port); 0 takes a free one"
    )]
    Listen {
        /// Which.
        address: SocketAddr,
        /// The setting that says so.
        variable: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It could not go on.
    #[error("failed to answer Prometheus: {0}")]
    Serve(#[source] io::Error),
}

/// A port that is listened at.
pub struct Exporter<C> {
    listener: TcpListener,
    collect: Arc<C>,
}

impl<C: Collect> Exporter<C> {
    /// Listens on a port of the loopback. `variable` is the setting that a user would change.
    pub async fn listen(collect: Arc<C>, port: u16, variable: &'static str) -> Result<Self, ExporterError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|source| ExporterError::Listen { address, variable, source })?;
        Ok(Self { listener, collect })
    }

    /// Where.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until it is dropped.
    pub async fn serve(self) -> Result<(), ExporterError> {
        let router = Router::new()
            .route("/metrics", get(metrics::<C>))
            .route("/health", get(health::<C>))
            .with_state(self.collect);
        axum::serve(self.listener, router).await.map_err(ExporterError::Serve)
    }
}

async fn metrics<C: Collect>(State(collect): State<Arc<C>>) -> Response {
    answer(&*collect).await
}

/// The values, or an error that Prometheus shows beside the target.
pub(crate) async fn answer(collect: &impl Collect) -> Response {
    match collect.text().await {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(problem) => (StatusCode::SERVICE_UNAVAILABLE, problem).into_response(),
    }
}

async fn health<C: Collect>(State(collect): State<Arc<C>>) -> Response {
    match collect.text().await {
        Ok(_) => Json(json!({"status": "ok"})).into_response(),
        Err(reason) => {
            let body = Json(json!({"status": "error", "reason": reason}));
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}
