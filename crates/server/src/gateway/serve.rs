//! Accepts connections, authenticates requests and forwards them to the sandbox daemon.

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
use menace_model::{ErrorClass, ErrorDetails};
use menace_store::audit::AuditTrail;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower_http::timeout::RequestBodyTimeoutLayer;
use tracing::Instrument;

use super::api_keys::{ApiKey, ApiKeyRing};
use super::audit::AuditedRequest;
use super::authentication::{RequestAuthenticator, without_socket_key};
use super::rate_limiter::RateLimiter;
use super::tls::{TlsError, TlsFiles};
use crate::api::CALLER_HEADER;
use crate::clock;
use crate::daemon::DaemonConnector;
use crate::dashboard::{self, Dashboard};
use crate::error::ApiError;
use crate::proxy::forward;
use crate::sandboxes::Caller;
use crate::traces;

/// Time for open requests to finish when the gateway shuts down.
const GRACE: Duration = Duration::from_secs(10);
/// Timeout of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Configuration of the gateway.
pub struct GatewayOptions {
    /// Address to listen on.
    pub address: SocketAddr,
    /// TLS certificate, if any.
    pub tls: Option<TlsFiles>,
    /// Requests per second of one caller, and its burst size.
    pub rate: (f64, f64),
    /// Require an API key even on this machine.
    pub needs_key: bool,
    /// Timeout for the head of a request, and between two parts of its body.
    pub patience: Duration,
}

/// Failure of the gateway.
#[derive(Debug, Error)]
pub enum GatewayError {
    /// Binding the address failed.
    #[error("failed to listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Underlying error.
        #[source]
        source: io::Error,
    },
    /// The address is reachable from other machines, and there are no API keys.
    #[error("{address} is reachable from other machines, and there are no API keys")]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The certificate could not be loaded.
    #[error("{0}")]
    Tls(#[from] TlsError),
    /// Accepting a connection failed.
    #[error("failed to accept a connection: {0}")]
    Accept(#[source] io::Error),
}

impl ErrorDetails for GatewayError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Open { .. } => ErrorClass::Usage,
            Self::Tls(error) => error.class(),
            Self::Listen { .. } | Self::Accept(_) => ErrorClass::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Listen { .. } => Some("choose another address with --address or --port".into()),
            Self::Open { .. } => {
                Some("create a key with 'menace keys create', or listen on 127.0.0.1".into())
            }
            Self::Tls(error) => error.hint(),
            Self::Accept(_) => None,
        }
    }
}

/// A gateway that listens.
pub struct Gateway {
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    shared: Arc<GatewayState>,
}

struct GatewayState {
    gate: RequestAuthenticator,
    keeper: DaemonConnector,
    audit: AuditTrail,
    patience: Duration,
    dashboard: Dashboard,
}

impl Gateway {
    /// Binds the address. Connections are accepted once [`Gateway::serve`] runs.
    pub async fn listen(
        options: GatewayOptions,
        keys: Vec<ApiKey>,
        keeper: DaemonConnector,
        audit: AuditTrail,
        dashboard: Dashboard,
    ) -> Result<Self, GatewayError> {
        let address = options.address;
        if keys.is_empty() && !address.ip().is_loopback() {
            return Err(GatewayError::Open { address });
        }
        let acceptor = options.tls.map(|files| files.acceptor()).transpose()?;
        let listener =
            TcpListener::bind(address).await.map_err(|source| GatewayError::Listen { address, source })?;
        let ring = ApiKeyRing::default();
        ring.replace(keys);
        // Revoking the last key must not open a gateway that required keys.
        let needs_key = options.needs_key || !ring.is_empty() || !address.ip().is_loopback();
        let gate = RequestAuthenticator {
            keys: ring,
            needs_key,
            rate: RateLimiter::new(options.rate.0, options.rate.1),
        };
        let shared = GatewayState { gate, keeper, audit, patience: options.patience, dashboard };
        Ok(Self { listener, acceptor, shared: Arc::new(shared) })
    }

    /// Address of the listener.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// True if requests need an API key.
    pub fn needs_key(&self) -> bool {
        self.shared.gate.needs_key
    }

    /// Returns a function that replaces the API keys.
    pub fn keys(&self) -> impl Fn(Vec<ApiKey>) + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move |keys| shared.gate.keys.replace(keys)
    }

    /// Serves requests until `end` completes, then waits a limited time for open requests.
    pub async fn serve(self, end: impl Future<Output = ()>) -> Result<(), GatewayError> {
        let graceful = GracefulShutdown::new();
        let mut end = pin!(end);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut end => break,
            };
            match accepted {
                Ok((stream, peer)) => self.accept(stream, peer, &graceful),
                // Too many open files, or the caller has disconnected already: both are temporary.
                Err(error) if is_temporary(&error) => tokio::time::sleep(Duration::from_millis(10)).await,
                Err(error) => return Err(GatewayError::Accept(error)),
            }
        }
        drop(self.listener);
        if tokio::time::timeout(GRACE, graceful.shutdown()).await.is_err() {
            tracing::info!("closed connections with requests still open after {GRACE:?}");
        }
        Ok(())
    }

    fn accept(&self, stream: TcpStream, peer: SocketAddr, graceful: &GracefulShutdown) {
        // Small responses must not wait for Nagle's algorithm.
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
                    let Ok(Ok(stream)) =
                        tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await
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

fn is_temporary(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    let is_limit = matches!(error.raw_os_error(), Some(23 | 24));
    is_limit || matches!(error.kind(), Kind::ConnectionAborted | Kind::ConnectionReset | Kind::Interrupted)
}

/// State of one connection.
#[derive(Clone)]
struct GatewayPeer {
    shared: Arc<GatewayState>,
    address: SocketAddr,
}

fn router(shared: Arc<GatewayState>, address: SocketAddr) -> Router {
    Router::new()
        .fallback(handle)
        .layer(RequestBodyTimeoutLayer::new(shared.patience))
        .with_state(GatewayPeer { shared, address })
}

async fn handle(State(peer): State<GatewayPeer>, request: Request) -> Response {
    let span = traces::of_caller(&request);
    let response = answer(peer, request).instrument(span.clone()).await;
    traces::record_status(&span, response.status());
    response
}

async fn answer(peer: GatewayPeer, request: Request) -> Response {
    let began = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    // Supervisors check /healthz without a key. The dashboard's page asks for a key itself and contains no secrets; if no
    // keys are required, it is restricted to this machine like everything else.
    let is_open = path == "/healthz" || (peer.shared.gate.needs_key && dashboard::is_page(&path));
    let admission = if is_open {
        Ok(Caller::default())
    } else {
        peer.shared.gate.authenticate(request.headers(), peer.address)
    };
    let (key, response) = match admission {
        Err(rejection) => (None, rejection.into_response()),
        Ok(caller) => {
            let answered = if dashboard::is_dashboard_path(&path) {
                peer.shared.dashboard.answer(request).await
            } else if path == "/metrics" && method.is_safe() {
                metrics(&peer.shared, request, &caller).await.unwrap_or_else(IntoResponse::into_response)
            } else {
                let forwarded = forward_as(&peer.shared, request, &caller).await;
                isolate_sandbox_content(&path, forwarded.unwrap_or_else(IntoResponse::into_response))
            };
            (caller.key, answered)
        }
    };
    let changes = !method.is_safe();
    if changes {
        let line = AuditedRequest {
            at: clock::format_time(clock::now_ms()),
            key: key.as_deref(),
            peer: peer.address.ip().to_string(),
            method: method.as_str(),
            path: &path,
            status: response.status().as_u16(),
            took_ms: began.elapsed().as_secs_f64() * 1e3,
        };
        if let Err(error) = peer.shared.audit.add(&line) {
            tracing::error!("{error}");
            return ApiError::internal(
                "the request was executed, but could not be recorded in the audit trail",
            )
            .hint("the operator has to check the disk of the server")
            .into_response();
        }
    }
    response
}

/// Size limit of the metrics text from the sandbox daemon.
const MAX_METRICS_BYTES: usize = 16 << 20;

/// Metrics of the sandbox daemon, followed by those of the data directory.
async fn metrics(shared: &GatewayState, request: Request, caller: &Caller) -> Result<Response, ApiError> {
    let (mut head, body) = forward_as(shared, request, caller).await?.into_parts();
    let of_sandboxes = axum::body::to_bytes(body, MAX_METRICS_BYTES);
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

/// Content of a sandbox is not trusted: a browser may run its pages, but with an opaque origin, so that they cannot send
/// requests to this service in the name of the user who opened them.
fn isolate_sandbox_content(path: &str, mut response: Response) -> Response {
    let rest = path.strip_prefix("/api/sandboxes/").and_then(|rest| rest.split_once('/'));
    if rest.is_some_and(|(_, rest)| rest.starts_with("ports/") || rest.starts_with("files/")) {
        let policy = HeaderValue::from_static("sandbox allow-scripts allow-forms allow-popups allow-modals");
        response.headers_mut().append(CONTENT_SECURITY_POLICY, policy);
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    response
}

async fn forward_as(
    shared: &GatewayState,
    mut request: Request<Body>,
    caller: &Caller,
) -> Result<Response, ApiError> {
    without_last_slash(&mut request);
    let caller = serde_json::to_string(caller).unwrap_or_default();
    let caller = HeaderValue::from_str(&caller)
        .map_err(|_| ApiError::internal("failed to encode the caller header"))?;
    without_socket_key(request.headers_mut());
    // Replaces any header of this name that the caller sent.
    request.headers_mut().insert(CALLER_HEADER, caller);
    traces::inject_context(request.headers_mut());
    // A daemon that was just killed may accept a connection and not answer. Requests without side effects are retried.
    if request.method().is_safe() && !request.headers().contains_key(UPGRADE) {
        let retry = without_body(&request);
        return match send_to_daemon(shared, request).await {
            Err(error) if error.status() == StatusCode::BAD_GATEWAY => send_to_daemon(shared, retry).await,
            answer => answer,
        };
    }
    send_to_daemon(shared, request).await
}

async fn send_to_daemon(shared: &GatewayState, request: Request<Body>) -> Result<Response, ApiError> {
    let stream =
        shared.keeper.connect().await.map_err(|error| ApiError::of(&error, "no_keeper").not_ready())?;
    forward(request, Box::new(stream)).await
}

fn without_body(request: &Request<Body>) -> Request<Body> {
    let mut copy = Request::new(Body::empty());
    copy.method_mut().clone_from(request.method());
    copy.uri_mut().clone_from(request.uri());
    copy.headers_mut().clone_from(request.headers());
    copy
}

/// Removes a trailing slash: the paths of the first API version had one, today's do not. Paths of ports and files are kept.
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
