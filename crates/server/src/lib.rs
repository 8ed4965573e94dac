//! Sandboxes as a service.
//!
//! Two processes serve it. One lets callers in ([`front`]): it knows addresses, certificates, keys and limits. The other one holds
//! the sandboxes ([`keeper`]) and has the whole API ([`api`]), on a socket that only its user can open. So the first one can be
//! killed and started again at any time, and no sandbox, command or stream is lost (docs/design/017).

pub mod alerts;
pub mod api;
pub mod cleaning;
pub mod client;
mod clock;
pub mod dashboard;
mod error;
pub mod exporter;
pub mod front;
pub mod keeper;
pub mod mcp;
mod metrics;
mod proxy;
pub mod sandboxes;
mod traces;

pub use clock::text as time_text;
pub use error::{ApiError, ErrorBody, ErrorDetail};

/// Serves routes until this process is told to end.
pub async fn serve_until_told(
    listener: tokio::net::TcpListener,
    router: axum::Router,
) -> std::io::Result<()> {
    let told = told_to_end()?;
    axum::serve(listener, router).with_graceful_shutdown(told).await
}

/// Waits until somebody wants this process to end.
pub fn told_to_end() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}
