//! The life of the process that holds sandboxes: it ends when there are none and nobody asks for any.

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

use super::place::Place;
use crate::alerts::{Alert, Dispatcher};
use crate::cleaning::Cleaning;
use crate::clock;
use crate::sandboxes::{Backends, Caller, Records, Sandboxes, ServiceLimits};

/// How it is held.
pub struct Holding {
    /// Where.
    pub place: Place,
    /// Who makes sandboxes.
    pub backends: Backends,
    /// What holds for all of them.
    pub limits: ServiceLimits,
    /// Where sandboxes are written down that outlive it.
    pub records: Records,
    /// How it is cleaned up.
    pub cleaning: Cleaning,
    /// Who is told that containers cannot be made or removed.
    pub alerts: Dispatcher,
    /// How long it stays without sandboxes and without anybody who asks.
    pub linger: Duration,
}

/// What tells the process to end.
struct Life {
    asked_ms: AtomicI64,
    end: Notify,
}

/// Holds sandboxes until nobody needs that any more. False if another process does already.
pub async fn hold(holding: Holding) -> io::Result<bool> {
    let Some(lock) = holding.place.hold()? else { return Ok(false) };
    let path = holding.place.socket();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Nobody else can enter the directory, so there is no moment in which others could connect.
    let listener = UnixListener::bind(&path)?;
    let sandboxes = Arc::new(Sandboxes::new(holding.backends, holding.limits, Some(holding.records)));
    for name in holding.cleaning.at_start.clone() {
        if let Err(error) = sandboxes.backends.get(name).await {
            tracing::warn!("what the backend {} may have left is not removed: {error}", name.name());
        }
    }
    sandboxes.adopt().await;
    let check = holding.cleaning.check;
    let crew = Arc::new(holding.cleaning.begin(&sandboxes));
    let looked_after = Arc::clone(&crew);
    let life = Arc::new(Life { asked_ms: AtomicI64::new(clock::now_ms()), end: Notify::new() });
    let workers = [
        tokio::spawn(Arc::clone(&sandboxes).reap()),
        tokio::spawn(Arc::clone(&sandboxes).measure()),
        tokio::spawn(linger(Arc::clone(&sandboxes), Arc::clone(&life), holding.linger)),
        tokio::spawn(end_when_told(Arc::clone(&life))?),
        tokio::spawn(async move { looked_after.look_after(check).await }),
        tokio::spawn(alert(Arc::clone(&sandboxes), holding.alerts)),
    ];
    let router = crate::api::router(Arc::clone(&sandboxes))
        .route("/internal/end", axum::routing::post(end).with_state(Arc::clone(&life)))
        .layer(middleware::from_fn(read_to_the_end))
        .layer(middleware::from_fn_with_state(Arc::clone(&life), note_request));
    say_ready()?;
    let ending = Arc::clone(&life);
    // Streams have no end of their own, so connections are not waited for.
    tokio::select! {
        served = async { axum::serve(listener, router).await } => served?,
        () = ending.end.notified() => {}
    }
    workers.iter().for_each(tokio::task::JoinHandle::abort);
    // Who comes now starts another one, which waits for the lock no longer than this takes.
    drop(fs::remove_file(&path));
    drop(crew);
    sandboxes.destroy_all("the process that held it ended").await;
    sandboxes.backends.end().await;
    drop(lock);
    Ok(true)
}

/// Tells people of what sandboxes cannot help themselves with.
async fn alert(sandboxes: Arc<Sandboxes>, alerts: Dispatcher) {
    let (everybody, mut last) = (Caller::default(), 0);
    loop {
        let (happened, seen) = sandboxes.happenings.after(last, &everybody).await;
        last = seen;
        for one in happened.into_iter().filter(|one| one.event.starts_with("container.")) {
            let message = one.detail.unwrap_or_default();
            alerts.dispatch(&Alert { at: one.at, kind: one.event, subject: one.sandbox_id, message }).await;
        }
    }
}

/// Whoever started this process waits for a line.
fn say_ready() -> io::Result<()> {
    let mut stdout = io::stdout();
    match stdout.write_all(b"ready\n").and_then(|()| stdout.flush()) {
        // It may be gone.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

async fn note_request(State(life): State<Arc<Life>>, request: Request, next: Next) -> Response {
    // Whether somebody is here is not said by who wants to end it.
    if request.uri().path().starts_with("/internal/") {
        return next.run(request).await;
    }
    life.asked_ms.store(clock::now_ms(), Ordering::Relaxed);
    next.run(request).await
}

/// Of a body that nobody wants, so much is still read: whoever sends it hears our answer only if it can send all of it.
const UNWANTED: usize = 64 << 20;

/// Reads the body of a request to its end, even if it is answered before.
async fn read_to_the_end(request: Request, next: Next) -> Response {
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
            if unwanted > UNWANTED {
                break;
            }
        }
    });
    let chunks = unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
    next.run(Request::from_parts(parts, Body::from_stream(chunks))).await
}

/// Which ends are asked for.
#[derive(Debug, Deserialize)]
struct WhichEnd {
    /// Only if nobody is here.
    #[serde(default)]
    unattended: bool,
}

/// A server that runs asks once in a second.
const ATTENDED_MS: i64 = 3000;

async fn end(State(life): State<Arc<Life>>, Query(which): Query<WhichEnd>) -> StatusCode {
    let asked = clock::now_ms() - life.asked_ms.load(Ordering::Relaxed);
    if which.unattended && asked < ATTENDED_MS {
        return StatusCode::CONFLICT;
    }
    life.end.notify_one();
    StatusCode::ACCEPTED
}

async fn linger(sandboxes: Arc<Sandboxes>, life: Arc<Life>, linger: Duration) {
    let linger = i64::try_from(linger.as_millis()).unwrap_or(i64::MAX);
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let is_asked = clock::now_ms() - life.asked_ms.load(Ordering::Relaxed) < linger;
        if !is_asked && sandboxes.is_empty() {
            life.end.notify_one();
            return;
        }
    }
}

fn end_when_told(life: Arc<Life>) -> io::Result<impl Future<Output = ()>> {
    let told = crate::told_to_end()?;
    Ok(async move {
        told.await;
        life.end.notify_one();
    })
}
