//! Sandboxes as a service.
//!
//! Two processes serve it. The gateway ([`gateway`]) accepts requests: addresses, certificates, API keys and rate limits.
//! The sandbox daemon ([`daemon`]) owns the sandboxes and serves the whole API ([`api`]) on a socket that only its user
//! can open. The gateway can be killed and restarted at any time without losing a sandbox, command or stream
//! (docs/design/017).

pub mod alerts;
pub mod api;
pub mod cleanup;
pub mod client;
mod clock;
pub mod daemon;
pub mod dashboard;
mod error;
pub mod exporter;
pub mod gateway;
pub mod mcp;
mod metrics;
mod proxy;
pub mod sandboxes;
mod traces;

pub use clock::format_time as time_text;
pub use error::{ApiError, ErrorBody, ErrorDetail};

/// Serves routes until this process receives SIGTERM or SIGINT.
pub async fn serve_until_signal(
    listener: tokio::net::TcpListener,
    router: axum::Router,
) -> std::io::Result<()> {
    let shutdown = shutdown_signal()?;
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}

/// Installs the signal handlers and returns a future that completes on SIGTERM or SIGINT.
pub fn shutdown_signal() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}
