//! HTTP and HTTPS server of the mocks, on a thread of its own.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use menace_model::network::NetworkSpec;
use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore};
use tokio_rustls::LazyConfigAcceptor;

use super::authority::MockCertificateAuthority;
use super::body::{MockBody, TruncatedBody};
use super::response::{MockReaction, respond};
use super::rules::ValidatedMockRules;
use crate::stack::{NetstackCommand, NetstackInbox};

/// Bytes of a request's body that are kept, for rules that match the body.
const LONGEST_BODY: usize = 1 << 20;
/// Request bodies that are read concurrently; others wait.
const CONCURRENT_BODIES: usize = 64;
/// Size of the read and write buffers of one connection.
const MAX_BUFFER: usize = 64 << 10;
/// Content type `handshake`, the first byte of a TLS record.
const HANDSHAKE: u8 = 0x16;

/// Connection that a mock answers.
#[derive(Debug)]
pub(crate) struct MockConnection {
    pub(crate) stream: OwnedFd,
    /// Host to which the program connects.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) token: u64,
    /// Set when the connection is to be reset.
    pub(crate) reset: Arc<AtomicBool>,
    pub(crate) inbox: Arc<NetstackInbox>,
}

/// Running mock server, which stops when it is dropped.
#[derive(Debug)]
pub(crate) struct MockServer {
    connections: UnboundedSender<MockConnection>,
}

impl MockServer {
    /// Starts the thread.
    pub(crate) fn start(
        spec: &NetworkSpec,
        authority: Option<Arc<MockCertificateAuthority>>,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let rules = Arc::new(ValidatedMockRules::new(spec.mocks.clone().unwrap_or_default(), spec.seed));
        let (connections, receiver) = unbounded_channel();
        std::thread::Builder::new()
            .name("menace: mocks".into())
            .spawn(move || runtime.block_on(serve_all(receiver, &rules, authority.as_ref())))?;
        Ok(Self { connections })
    }

    /// Serves a connection. Their number is bounded by the limit on flows.
    pub(crate) fn serve(&self, connection: MockConnection) {
        // The thread runs as long as `self` exists.
        let _ = self.connections.send(connection);
    }
}

async fn serve_all(
    mut connections: UnboundedReceiver<MockConnection>,
    rules: &Arc<ValidatedMockRules>,
    authority: Option<&Arc<MockCertificateAuthority>>,
) {
    let bodies = Arc::new(Semaphore::new(CONCURRENT_BODIES));
    while let Some(connection) = connections.recv().await {
        tokio::spawn(serve(connection, Arc::clone(rules), authority.cloned(), Arc::clone(&bodies)));
    }
}

async fn serve(
    connection: MockConnection,
    rules: Arc<ValidatedMockRules>,
    authority: Option<Arc<MockCertificateAuthority>>,
    bodies: Arc<Semaphore>,
) {
    if let Err(error) = serve_stream(connection, rules, authority, bodies).await {
        tracing::debug!("connection to a mock ended: {error}");
    }
}

type MockConnectionError = Box<dyn std::error::Error + Send + Sync>;

async fn serve_stream(
    connection: MockConnection,
    rules: Arc<ValidatedMockRules>,
    authority: Option<Arc<MockCertificateAuthority>>,
    bodies: Arc<Semaphore>,
) -> Result<(), MockConnectionError> {
    let MockConnection { stream, host, port, token, reset, inbox } = connection;
    let stream = UnixStream::from_std(stream.into())?;
    let state = Arc::new(MockConnectionState {
        rules,
        host,
        port,
        token,
        reset,
        inbox,
        bodies,
        broken: Notify::new(),
    });
    match authority {
        Some(authority) if first_byte(&stream).await? == Some(HANDSHAKE) => {
            let handshake = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await?;
            let server_name = handshake.client_hello().server_name().map(str::to_ascii_lowercase);
            let configuration = authority
                .configuration(server_name.as_deref().unwrap_or(&state.host))
                .map_err(|error| error.to_string())?;
            serve_http(handshake.into_stream(configuration).await?, state).await
        }
        _ => serve_http(stream, state).await,
    }
}

/// Peeks at the first byte that the program sends; `None` if it closes without sending one.
async fn first_byte(stream: &UnixStream) -> io::Result<Option<u8>> {
    loop {
        stream.readable().await?;
        let mut byte = [0];
        let peeked = stream.try_io(tokio::io::Interest::READABLE, || {
            Ok(rustix::net::recv(stream, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT)?.0)
        });
        match peeked {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// State shared by all requests of a connection.
struct MockConnectionState {
    rules: Arc<ValidatedMockRules>,
    host: String,
    port: u16,
    token: u64,
    reset: Arc<AtomicBool>,
    inbox: Arc<NetstackInbox>,
    bodies: Arc<Semaphore>,
    /// Notified when the connection is to be reset.
    broken: Notify,
}

async fn serve_http(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    state: Arc<MockConnectionState>,
) -> Result<(), MockConnectionError> {
    let mut builder = Builder::new(TokioExecutor::new());
    // Responses are reproducible, so they have no Date header.
    builder.http1().auto_date_header(false).max_buf_size(MAX_BUFFER).timer(TokioTimer::new());
    builder
        .http2()
        .auto_date_header(false)
        .max_concurrent_streams(32)
        .max_header_list_size(16 << 10)
        .max_send_buf_size(MAX_BUFFER);
    let service = service_fn(|request| handle_request(Arc::clone(&state), request));
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    tokio::select! {
        ended = connection => ended,
        () = state.broken.notified() => Ok(()),
    }
}

/// Reads a body to its end and returns its beginning.
async fn read_beginning(mut body: Incoming) -> Result<Vec<u8>, hyper::Error> {
    let mut kept = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            let room = LONGEST_BODY.saturating_sub(kept.len()).min(data.len());
            kept.extend_from_slice(data.get(..room).unwrap_or_default());
        }
    }
    Ok(kept)
}

async fn handle_request(
    state: Arc<MockConnectionState>,
    request: Request<Incoming>,
) -> Result<Response<MockBody>, TruncatedBody> {
    let (parts, body) = request.into_parts();
    // The permit is held until the body is dropped. Bodies that never end block others, but memory stays bounded.
    let permit = state.bodies.acquire().await.map_err(|_| TruncatedBody)?;
    let body = read_beginning(body).await.map_err(|_| TruncatedBody)?;
    let decided = respond(&state.rules, (&state.host, state.port), &parts, &body);
    drop((body, permit));
    state.inbox.send(NetstackCommand::Requested { token: state.token, request: Box::new(decided.record) });
    if !decided.delay.is_zero() {
        tokio::time::sleep(decided.delay).await;
    }
    match decided.reaction {
        MockReaction::Answer(response) => Ok(*response),
        MockReaction::Stall => std::future::pending().await,
        MockReaction::Reset => {
            state.reset.store(true, Ordering::Release);
            state.broken.notify_one();
            // Returning here would close the connection gracefully instead of resetting it.
            std::future::pending().await
        }
    }
}
