//! A dashboard by itself, on this machine alone.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use thiserror::Error;
use tokio::net::TcpListener;

use super::routes::Dashboard;

/// Why a dashboard cannot be shown.
#[derive(Debug, Error)]
pub enum DashboardError {
    /// The port cannot be used.
    #[error("failed to listen on {address}: {source}\nhint: choose another port; 0 takes a free one")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It could not go on.
    #[error("failed to serve the dashboard: {0}")]
    Serve(#[source] io::Error),
}

/// Listens on a port of the loopback: where, and what serves until `end` is there. Others cannot reach it; who wants that has
/// `menace serve`, which knows keys.
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
    let router = dashboard.for_this_machine();
    let served = async move {
        // Streams of events have no end of their own: whoever still listens is cut off.
        tokio::select! {
            served = axum::serve(listener, router) => served.map_err(DashboardError::Serve),
            () = end => Ok(()),
        }
    };
    Ok((bound, served))
}
