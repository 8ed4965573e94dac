//! Standalone dashboard on a loopback port.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use menace_model::{ErrorClass, ErrorDetails};
use thiserror::Error;
use tokio::net::TcpListener;

use super::routes::Dashboard;

/// Failure of the dashboard server.
#[derive(Debug, Error)]
pub enum DashboardError {
    /// Binding the port failed.
    #[error("failed to listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Underlying error.
        #[source]
        source: io::Error,
    },
    /// Serving requests failed.
    #[error("failed to serve the dashboard: {0}")]
    Serve(#[source] io::Error),
}

impl ErrorDetails for DashboardError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Listen { .. } | Self::Serve(_) => ErrorClass::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Listen { .. } => Some("choose another port; 0 selects a free one".into()),
            Self::Serve(_) => None,
        }
    }
}

/// Binds a loopback port and returns its address and a future that serves until `end` completes. Other machines cannot reach
/// it; for remote access use `menace serve`, which supports API keys.
pub async fn listen<E>(
    dashboard: Dashboard,
    port: u16,
    end: E,
) -> Result<(SocketAddr, impl Future<Output = Result<(), DashboardError>>), DashboardError>
where
    E: Future<Output = ()> + Send + 'static,
{
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let failed = |source| DashboardError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let router = dashboard.local_router();
    let served = async move {
        // Event streams never end, so open connections are dropped.
        tokio::select! {
            served = axum::serve(listener, router) => served.map_err(DashboardError::Serve),
            () = end => Ok(()),
        }
    };
    Ok((bound, served))
}
