//! Lets callers in, and passes what they ask on to whoever holds sandboxes.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_SECURITY_POLICY, UPGRADE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use menace_store::audit::AuditTrail;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower_http::timeout::RequestBodyTimeoutLayer;
use tracing::Instrument;

use super::audit::Line;
use super::gate::{Gate, without_socket_key};
use super::keys::{Key, KeyRing};
use super::rate::Rate;
use super::tls::{TlsError, TlsFiles};
use crate::api::CALLER_HEADER;
use crate::clock;
use crate::dashboard::{self, Dashboard};
use crate::error::ApiError;
use crate::keeper::Keeper;
use crate::proxy::forward;
use crate::sandboxes::Caller;
use crate::traces;

/// How long requests under way have when the server ends.
const GRACE: Duration = Duration::from_secs(10);
/// How long a certificate may be negotiated.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How callers are let in.
pub struct FrontOptions {
    /// Where it listens.
    pub address: SocketAddr,
    /// A certificate, if it has one.
    pub tls: Option<TlsFiles>,
    /// Requests of one caller in a second, and at once.
    pub rate: (f64, f64),
    /// A key is needed even on this machine.
    pub needs_key: bool,
    /// How long a caller may take for the head of a request, and between two parts of its body.
    pub patience: Duration,
}

/// Why callers cannot be let in.
#[derive(Debug, Error)]
pub enum FrontError {
    /// The address cannot be used.
    #[error("failed to listen on {address}: {source}\nhint: choose another one with --address or --port")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Everybody could use this machine.
    #[error(
        "{address} can be reached by other machines, and there are no keys\nhint: menace keys create makes one; or listen on 127.0.0.1"
    )]
    Open {
        /// Which.
        address: SocketAddr,
    },
    /// The certificate cannot be used.
    #[error("{0}")]
    Tls(#[from] TlsError),
    /// Accepting callers failed.
    #[error("failed to let a caller in: {0}")]
    Accept(#[source] io::Error),
}

/// A server that listens.
pub struct Front {
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    shared: Arc<Shared>,
}

struct Shared {
    gate: Gate,
    keeper: Keeper,
    audit: AuditTrail,
    patience: Duration,
    dashboard: Dashboard,
}

impl Front {
    /// Listens. Nobody is let in before [`Front::serve`].
    pub async fn listen(
        options: FrontOptions,
        keys: Vec<Key>,
        keeper: Keeper,
        audit: AuditTrail,
        dashboard: Dashboard,
    ) -> Result<Self, FrontError> {
        let address = options.address;
        if keys.is_empty() && !address.ip().is_loopback() {
            return Err(FrontError::Open { address });
        }
        let acceptor = options.tls.map(|files| files.acceptor()).transpose()?;
        let listener =
            TcpListener::bind(address).await.map_err(|source| FrontError::Listen { address, source })?;
        let ring = KeyRing::default();
        ring.replace(keys);
        // One that needs keys never becomes open because the last one was taken back.
        let needs_key = options.needs_key || !ring.is_empty() || !address.ip().is_loopback();
        let gate = Gate { keys: ring, needs_key, rate: Rate::new(options.rate.0, options.rate.1) };
        let shared = Shared { gate, keeper, audit, patience: options.patience, dashboard };
        Ok(Self { listener, acceptor, shared: Arc::new(shared) })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Whether a key is needed.
    pub fn needs_key(&self) -> bool {
        self.shared.gate.needs_key
    }

    /// Takes other keys from now on.
    pub fn keys(&self) -> impl Fn(Vec<Key>) + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move |keys| shared.gate.keys.replace(keys)
    }

    /// Lets callers in until `end` is there, and then waits a while for those that are under way.
    pub async fn serve(self, end: impl Future<Output = ()>) -> Result<(), FrontError> {
        let graceful = GracefulShutdown::new();
        let mut end = pin!(end);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut end => break,
            };
            match accepted {
                Ok((stream, peer)) => self.accept(stream, peer, &graceful),
                // Too many files are open, or the caller is gone already: neither is the end.
                Err(error) if is_passing(&error) => tokio::time::sleep(Duration::from_millis(10)).await,
                Err(error) => return Err(FrontError::Accept(error)),
            }
        }
        drop(self.listener);
        if tokio::time::timeout(GRACE, graceful.shutdown()).await.is_err() {
            tracing::info!("requests that were still under way after {GRACE:?} were cut off");
        }
        Ok(())
    }

    fn accept(&self, stream: TcpStream, peer: SocketAddr, graceful: &GracefulShutdown) {
        // Small answers are not held back to be sent with others.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!("{peer}: {error}");
        }
        let (acceptor, shared, watcher) =
            (self.acceptor.clone(), Arc::clone(&self.shared), graceful.watcher());
        tokio::spawn(async move {
            let patience = shared.patience;
            let service =
                TowerToHyperService::new(router(shared, peer).into_service::<hyper::body::Incoming>());
            let mut builder = auto::Builder::new(TokioExecutor::new());
            builder.http1().timer(TokioTimer::new()).header_read_timeout(patience);
            let served = match acceptor {
                None => {
                    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
                    watcher.watch(connection.into_owned()).await
                }
                Some(acceptor) => {
                    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await
                    else {
                        return;
                    };
                    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
                    watcher.watch(connection.into_owned()).await
                }
            };
            if let Err(error) = served {
                tracing::debug!("the connection of {peer} ended: {error}");
            }
        });
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    let is_limit = matches!(error.raw_os_error(), Some(23 | 24));
    is_limit || matches!(error.kind(), Kind::ConnectionAborted | Kind::ConnectionReset | Kind::Interrupted)
}

/// A caller and what is shared.
#[derive(Clone)]
struct Peer {
    shared: Arc<Shared>,
    address: SocketAddr,
}

fn router(shared: Arc<Shared>, address: SocketAddr) -> Router {
    Router::new()
        .fallback(handle)
        .layer(RequestBodyTimeoutLayer::new(shared.patience))
        .with_state(Peer { shared, address })
}

async fn handle(State(peer): State<Peer>, request: Request) -> Response {
    let span = traces::of_caller(&request);
    let response = let_in(peer, request).instrument(span.clone()).await;
    traces::answered(&span, response.status());
    response
}

async fn let_in(peer: Peer, request: Request) -> Response {
    let began = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    // Whether it lives can be asked without a key, as those ask who restart it. The page asks for a key itself, and has no
    // secrets; without keys it is served to this machine alone, as everything is.
    let is_open = path == "/healthz" || (peer.shared.gate.needs_key && dashboard::is_page(&path));
    let entered =
        if is_open { Ok(Caller::default()) } else { peer.shared.gate.enter(request.headers(), peer.address) };
    let (key, response) = match entered {
        Err(refused) => (None, refused.into_response()),
        Ok(caller) => {
            let answered = if dashboard::is_ours(&path) {
                peer.shared.dashboard.answer(request).await
            } else if path == "/metrics" && method.is_safe() {
                metrics(&peer.shared, request, &caller).await.unwrap_or_else(IntoResponse::into_response)
            } else {
                let passed = pass_on(&peer.shared, request, &caller).await;
                of_sandbox(&path, passed.unwrap_or_else(IntoResponse::into_response))
            };
            (caller.key, answered)
        }
    };
    let changes = !method.is_safe();
    if changes {
        let line = Line {
            at: clock::text(clock::now_ms()),
            key: key.as_deref(),
            peer: peer.address.ip().to_string(),
            method: method.as_str(),
            path: &path,
            status: response.status().as_u16(),
            took_ms: began.elapsed().as_secs_f64() * 1e3,
        };
        if let Err(error) = peer.shared.audit.add(&line) {
            tracing::error!("{error}");
            return ApiError::internal("it was done, and could not be written down")
                .hint("the operator has to look at the disk of the server")
                .into_response();
        }
    }
    response
}

/// The longest that is said about sandboxes.
const LONGEST_METRICS: usize = 16 << 20;

/// What is counted of sandboxes, and what is known of the data directory.
async fn metrics(shared: &Shared, request: Request, caller: &Caller) -> Result<Response, ApiError> {
    let (mut head, body) = pass_on(shared, request, caller).await?.into_parts();
    let of_sandboxes = axum::body::to_bytes(body, LONGEST_METRICS);
    let of_sandboxes = of_sandboxes.await.map_err(|error| ApiError::internal(error.to_string()))?;
    let mut text = String::from_utf8_lossy(&of_sandboxes).into_owned();
    let figures = shared.dashboard.figures().await;
    let is_known = u8::from(figures.is_ok());
    text.push_str("# HELP menace_data_up Whether the files of the data directory can be read.\n");
    text.push_str(&format!("# TYPE menace_data_up gauge\nmenace_data_up {is_known}\n"));
    match figures {
        Ok(figures) => text.push_str(&figures),
        Err(problem) => tracing::warn!("{problem}"),
    }
    head.headers.remove(CONTENT_LENGTH);
    Ok(Response::from_parts(head, Body::from(text)))
}

/// What a sandbox says or has is not ours: a page of it that somebody opens may run, but as a stranger. It has no origin, so that
/// it cannot ask us for anything in the name of whoever opened it.
fn of_sandbox(path: &str, mut response: Response) -> Response {
    let rest = path.strip_prefix("/api/sandboxes/").and_then(|rest| rest.split_once('/'));
    if rest.is_some_and(|(_, rest)| rest.starts_with("ports/") || rest.starts_with("files/")) {
        let policy = HeaderValue::from_static("sandbox allow-scripts allow-forms allow-popups allow-modals");
        response.headers_mut().append(CONTENT_SECURITY_POLICY, policy);
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    response
}

async fn pass_on(shared: &Shared, mut request: Request<Body>, caller: &Caller) -> Result<Response, ApiError> {
    without_last_slash(&mut request);
    let caller = serde_json::to_string(caller).unwrap_or_default();
    let caller = HeaderValue::from_str(&caller)
        .map_err(|_| ApiError::internal("the name of the key cannot be passed on"))?;
    without_socket_key(request.headers_mut());
    // Whatever a caller sends under this name is replaced.
    request.headers_mut().insert(CALLER_HEADER, caller);
    traces::pass_on(request.headers_mut());
    // One that was just killed may take a connection and answer nothing. What changes nothing is asked once more.
    if request.method().is_safe() && !request.headers().contains_key(UPGRADE) {
        let again = without_body(&request);
        return match pass_to(shared, request).await {
            Err(error) if error.status() == StatusCode::BAD_GATEWAY => pass_to(shared, again).await,
            answer => answer,
        };
    }
    pass_to(shared, request).await
}

async fn pass_to(shared: &Shared, request: Request<Body>) -> Result<Response, ApiError> {
    let stream =
        shared.keeper.connect().await.map_err(|error| {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "no_keeper", error.to_string())
        })?;
    forward(request, Box::new(stream)).await
}

fn without_body(request: &Request<Body>) -> Request<Body> {
    let mut again = Request::new(Body::empty());
    again.method_mut().clone_from(request.method());
    again.uri_mut().clone_from(request.uri());
    again.headers_mut().clone_from(request.headers());
    again
}

/// The addresses of the first edition end with a slash, others do not; both mean the same, but below ports and files.
fn without_last_slash(request: &mut Request<Body>) {
    let path = request.uri().path();
    let is_ours = path.starts_with("/api/") && !path.contains("/ports/") && !path.contains("/files/");
    let Some(short) = path.strip_suffix('/').filter(|_| is_ours && path != "/api/docs/") else { return };
    let target = match request.uri().query() {
        Some(query) => format!("{short}?{query}"),
        None => short.to_owned(),
    };
    if let Ok(target) = target.parse() {
        *request.uri_mut() = target;
    }
}
