//! Main loop of the sandbox daemon. It exits when there are no sandboxes and no requests.

use std::fs;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use serde::Deserialize;
use tokio::net::UnixListener;
use tokio::sync::{Notify, mpsc};

use super::endpoint::DaemonEndpoint;
use crate::alerts::{AlertDispatcher, ServiceAlert};
use crate::cleanup::CleanupOptions;
use crate::clock;
use crate::sandboxes::{Caller, RunningBackends, SandboxRecords, SandboxService, ServiceLimits};

/// Configuration of the sandbox daemon.
pub struct DaemonOptions {
    /// Socket and lock file.
    pub place: DaemonEndpoint,
    /// Backends that create sandboxes.
    pub backends: RunningBackends,
    /// Limits that apply to all sandboxes together.
    pub limits: ServiceLimits,
    /// Records of sandboxes that outlive the daemon.
    pub records: SandboxRecords,
    /// Clean-up of stale resources.
    pub cleaning: CleanupOptions,
    /// Receives alerts about containers that cannot be created or removed.
    pub alerts: AlertDispatcher,
    /// Time without sandboxes and requests after which the daemon exits.
    pub linger: Duration,
}

/// Time of the last request, and the signal to shut down.
struct DaemonActivity {
    asked_ms: AtomicI64,
    end: Notify,
}

/// Runs the sandbox daemon until it is idle or told to shut down. Returns false if another daemon is running already.
pub async fn run_daemon(holding: DaemonOptions) -> io::Result<bool> {
    let Some(lock) = holding.place.try_lock()? else { return Ok(false) };
    let path = holding.place.socket();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Other users cannot enter the directory (mode 0700), so they cannot connect at any moment.
    let listener = UnixListener::bind(&path)?;
    let sandboxes = Arc::new(SandboxService::new(holding.backends, holding.limits, Some(holding.records)));
    for name in holding.cleaning.at_start.clone() {
        if let Err(error) = sandboxes.backends.get(name).await {
            tracing::warn!(
                "failed to start the backend {}; its stale resources are not removed: {error}",
                name.name()
            );
        }
    }
    sandboxes.adopt().await;
    let check = holding.cleaning.check;
    let crew = Arc::new(holding.cleaning.begin(&sandboxes));
    let supervised = Arc::clone(&crew);
    let life = Arc::new(DaemonActivity { asked_ms: AtomicI64::new(clock::now_ms()), end: Notify::new() });
    let workers = [
        tokio::spawn(Arc::clone(&sandboxes).reap()),
        tokio::spawn(Arc::clone(&sandboxes).measure()),
        tokio::spawn(exit_when_idle(Arc::clone(&sandboxes), Arc::clone(&life), holding.linger)),
        tokio::spawn(shut_down_on_signal(Arc::clone(&life))?),
        tokio::spawn(async move { supervised.restart_periodically(check).await }),
        tokio::spawn(alert(Arc::clone(&sandboxes), holding.alerts)),
    ];
    let router = crate::api::router(Arc::clone(&sandboxes))
        .route("/internal/end", axum::routing::post(end).with_state(Arc::clone(&life)))
        .layer(middleware::from_fn(drain_request_body))
        .layer(middleware::from_fn_with_state(Arc::clone(&life), note_request));
    report_ready()?;
    let ending = Arc::clone(&life);
    // Event streams never end, so open connections are not waited for.
    tokio::select! {
        served = async { axum::serve(listener, router).await } => served?,
        () = ending.end.notified() => {}
    }
    workers.iter().for_each(tokio::task::JoinHandle::abort);
    // A client that connects now starts another daemon, which gets the lock as soon as this one has finished.
    drop(fs::remove_file(&path));
    drop(crew);
    sandboxes.destroy_all("the sandbox daemon exited").await;
    sandboxes.backends.end().await;
    drop(lock);
    Ok(true)
}

/// Sends an alert for every event of a container that could not be created or removed.
async fn alert(sandboxes: Arc<SandboxService>, alerts: AlertDispatcher) {
    let (all_tenants, mut last) = (Caller::default(), 0);
    loop {
        let (events, seen) = sandboxes.happenings.after(last, &all_tenants).await;
        last = seen;
        for one in events.into_iter().filter(|one| one.event.starts_with("container.")) {
            let message = one.detail.unwrap_or_default();
            alerts
                .dispatch(&ServiceAlert { at: one.at, kind: one.event, subject: one.sandbox_id, message })
                .await;
        }
    }
}

/// Prints the line that the parent process waits for.
fn report_ready() -> io::Result<()> {
    let mut stdout = io::stdout();
    match stdout.write_all(b"ready\n").and_then(|()| stdout.flush()) {
        // The parent may have exited.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

async fn note_request(State(life): State<Arc<DaemonActivity>>, request: Request, next: Next) -> Response {
    // A request to shut down does not count as activity.
    if request.uri().path().starts_with("/internal/") {
        return next.run(request).await;
    }
    life.asked_ms.store(clock::now_ms(), Ordering::Relaxed);
    next.run(request).await
}

/// Bytes of an unwanted request body that are still read: many clients read the response only after sending the whole body.
const MAX_UNWANTED_BYTES: usize = 64 << 20;

/// Middleware that reads a request body to its end, even if the handler responds earlier.
async fn drain_request_body(request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        let mut body = body.into_data_stream();
        let mut unwanted = 0;
        while let Some(chunk) = body.next().await {
            let length = chunk.as_ref().map_or(0, Bytes::len);
            if sender.send(chunk).await.is_err() {
                unwanted += length;
            }
            if unwanted > MAX_UNWANTED_BYTES {
                break;
            }
        }
    });
    let chunks = unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
    next.run(Request::from_parts(parts, Body::from_stream(chunks))).await
}

/// Query of a shutdown request.
#[derive(Debug, Deserialize)]
struct DaemonShutdownQuery {
    /// Shut down only if no server uses the daemon.
    #[serde(default)]
    unattended: bool,
}

/// Time without requests after which no server uses the daemon; a running server sends one every second.
const ATTENDED_MS: i64 = 3000;

async fn end(
    State(life): State<Arc<DaemonActivity>>,
    Query(which): Query<DaemonShutdownQuery>,
) -> StatusCode {
    let idle_ms = clock::now_ms() - life.asked_ms.load(Ordering::Relaxed);
    if which.unattended && idle_ms < ATTENDED_MS {
        return StatusCode::CONFLICT;
    }
    life.end.notify_one();
    StatusCode::ACCEPTED
}

async fn exit_when_idle(sandboxes: Arc<SandboxService>, life: Arc<DaemonActivity>, linger: Duration) {
    let linger = i64::try_from(linger.as_millis()).unwrap_or(i64::MAX);
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let is_active = clock::now_ms() - life.asked_ms.load(Ordering::Relaxed) < linger;
        if !is_active && sandboxes.is_empty() {
            life.end.notify_one();
            return;
        }
    }
}

fn shut_down_on_signal(life: Arc<DaemonActivity>) -> io::Result<impl Future<Output = ()>> {
    let shutdown = crate::shutdown_signal()?;
    Ok(async move {
        shutdown.await;
        life.end.notify_one();
    })
}
