//! HTTP endpoint for Prometheus on a loopback port.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use menace_model::{ErrorClass, ErrorDetails};
use serde_json::json;
use thiserror::Error;
use tokio::net::TcpListener;

use crate::metrics::CONTENT_TYPE;

/// Source of metrics.
pub trait MetricsSource: Send + Sync + 'static {
    /// Current metrics in the Prometheus text format, or the reason why they are unavailable.
    fn text(&self) -> impl Future<Output = Result<String, String>> + Send;
}

/// Failure of an exporter.
#[derive(Debug, Error)]
pub enum ExporterError {
    /// Binding the port failed.
    #[error("failed to listen on {address} for Prometheus: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Name of the setting for the port.
        variable: &'static str,
        /// Underlying error.
        #[source]
        source: io::Error,
    },
    /// Serving requests failed.
    #[error("failed to serve metrics: {0}")]
    Serve(#[source] io::Error),
}

impl ErrorDetails for ExporterError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Listen { .. } | Self::Serve(_) => ErrorClass::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Listen { variable, .. } => {
                Some(format!("choose another port with {variable} or --port; 0 selects a free one"))
            }
            Self::Serve(_) => None,
        }
    }
}

/// An exporter that listens.
pub struct Exporter<C> {
    listener: TcpListener,
    collect: Arc<C>,
}

impl<C: MetricsSource> Exporter<C> {
    /// Binds a loopback port. `variable` is the setting named in the hint.
    pub async fn listen(collect: Arc<C>, port: u16, variable: &'static str) -> Result<Self, ExporterError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|source| ExporterError::Listen { address, variable, source })?;
        Ok(Self { listener, collect })
    }

    /// Address of the listener.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves requests until dropped.
    pub async fn serve(self) -> Result<(), ExporterError> {
        let router = Router::new()
            .route("/metrics", get(metrics::<C>))
            .route("/health", get(health::<C>))
            .with_state(self.collect);
        axum::serve(self.listener, router).await.map_err(ExporterError::Serve)
    }
}

async fn metrics<C: MetricsSource>(State(collect): State<Arc<C>>) -> Response {
    answer(&*collect).await
}

/// Response with the metrics, or with an error that Prometheus shows next to the target.
pub(crate) async fn answer(collect: &impl MetricsSource) -> Response {
    match collect.text().await {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(problem) => (StatusCode::SERVICE_UNAVAILABLE, problem).into_response(),
    }
}

async fn health<C: MetricsSource>(State(collect): State<Arc<C>>) -> Response {
    match collect.text().await {
        Ok(_) => Json(json!({"status": "ok"})).into_response(),
        Err(reason) => {
            let body = Json(json!({"status": "error", "reason": reason}));
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}
