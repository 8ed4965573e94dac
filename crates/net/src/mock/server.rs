//! Mocks at work, on a thread of their own.

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

use super::authority::Authority;
use super::body::{BrokenOff, Content};
use super::respond::{Reaction, respond};
use super::rules::Rules;
use crate::stack::{Command, Inbox};

/// What is kept of the body of a request, for rules that look at it.
const LONGEST_BODY: usize = 1 << 20;
/// Bodies that are read at the same time; others wait.
const BODIES_AT_ONCE: usize = 64;
/// The most that is read or written ahead on one connection.
const LARGEST_BUFFER: usize = 64 << 10;
/// `handshake` as the first byte of a record of TLS.
const HANDSHAKE: u8 = 0x16;

/// A connection that a mock answers.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) stream: OwnedFd,
    /// The host that the program wants to speak to.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) token: u64,
    /// Set when the connection is to be reset.
    pub(crate) reset: Arc<AtomicBool>,
    pub(crate) inbox: Arc<Inbox>,
}

/// Mocks at work. They end when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    conversations: UnboundedSender<Conversation>,
}

impl Server {
    /// Starts the thread.
    pub(crate) fn start(spec: &NetworkSpec, authority: Option<Arc<Authority>>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let rules = Arc::new(Rules::new(spec.mocks.clone().unwrap_or_default(), spec.seed));
        let (conversations, receiver) = unbounded_channel();
        std::thread::Builder::new()
            .name("menace: mocks".into())
            .spawn(move || runtime.block_on(serve_all(receiver, &rules, authority.as_ref())))?;
        Ok(Self { conversations })
    }

    /// Answers on a connection. How many there are is bounded by the flows that there can be.
    pub(crate) fn serve(&self, conversation: Conversation) {
        // The thread is there as long as this is.
        let _ = self.conversations.send(conversation);
    }
}

async fn serve_all(
    mut conversations: UnboundedReceiver<Conversation>,
    rules: &Arc<Rules>,
    authority: Option<&Arc<Authority>>,
) {
    let bodies = Arc::new(Semaphore::new(BODIES_AT_ONCE));
    while let Some(conversation) = conversations.recv().await {
        tokio::spawn(serve(conversation, Arc::clone(rules), authority.cloned(), Arc::clone(&bodies)));
    }
}

async fn serve(
    conversation: Conversation,
    rules: Arc<Rules>,
    authority: Option<Arc<Authority>>,
    bodies: Arc<Semaphore>,
) {
    if let Err(error) = converse(conversation, rules, authority, bodies).await {
        tracing::debug!("a conversation with a mock ended: {error}");
    }
}

type Problem = Box<dyn std::error::Error + Send + Sync>;

async fn converse(
    conversation: Conversation,
    rules: Arc<Rules>,
    authority: Option<Arc<Authority>>,
    bodies: Arc<Semaphore>,
) -> Result<(), Problem> {
    let Conversation { stream, host, port, token, reset, inbox } = conversation;
    let stream = UnixStream::from_std(stream.into())?;
    let talk = Arc::new(Talk { rules, host, port, token, reset, inbox, bodies, broken: Notify::new() });
    match authority {
        Some(authority) if first_byte(&stream).await? == Some(HANDSHAKE) => {
            let greeted = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await?;
            let said = greeted.client_hello().server_name().map(str::to_ascii_lowercase);
            let configuration = authority
                .configuration(said.as_deref().unwrap_or(&talk.host))
                .map_err(|error| error.to_string())?;
            speak(greeted.into_stream(configuration).await?, talk).await
        }
        _ => speak(stream, talk).await,
    }
}

/// The first byte that the program says, which stays to be read; nothing if it says nothing.
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

/// What all requests of a connection share.
struct Talk {
    rules: Arc<Rules>,
    host: String,
    port: u16,
    token: u64,
    reset: Arc<AtomicBool>,
    inbox: Arc<Inbox>,
    bodies: Arc<Semaphore>,
    /// Tells that the connection is to be broken.
    broken: Notify,
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    talk: Arc<Talk>,
) -> Result<(), Problem> {
    let mut builder = Builder::new(TokioExecutor::new());
    // Answers are the same each time, and a date is not.
    builder.http1().auto_date_header(false).max_buf_size(LARGEST_BUFFER).timer(TokioTimer::new());
    builder
        .http2()
        .auto_date_header(false)
        .max_concurrent_streams(32)
        .max_header_list_size(16 << 10)
        .max_send_buf_size(LARGEST_BUFFER);
    let service = service_fn(|request| react(Arc::clone(&talk), request));
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    tokio::select! {
        ended = connection => ended,
        () = talk.broken.notified() => Ok(()),
    }
}

/// Reads a body to its end and keeps the beginning.
async fn beginning_of(mut body: Incoming) -> Result<Vec<u8>, hyper::Error> {
    let mut kept = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            let room = LONGEST_BODY.saturating_sub(kept.len()).min(data.len());
            kept.extend_from_slice(data.get(..room).unwrap_or_default());
        }
    }
    Ok(kept)
}

async fn react(talk: Arc<Talk>, request: Request<Incoming>) -> Result<Response<Content>, BrokenOff> {
    let (parts, body) = request.into_parts();
    // The permit is held until the body is not needed any more. Bodies that do not end keep others waiting, and nothing grows.
    let permit = talk.bodies.acquire().await.map_err(|_| BrokenOff)?;
    let body = beginning_of(body).await.map_err(|_| BrokenOff)?;
    let decided = respond(&talk.rules, (&talk.host, talk.port), &parts, &body);
    drop((body, permit));
    talk.inbox.tell(Command::Requested { token: talk.token, request: Box::new(decided.record) });
    if !decided.delay.is_zero() {
        tokio::time::sleep(decided.delay).await;
    }
    match decided.reaction {
        Reaction::Answer(response) => Ok(*response),
        Reaction::Stall => std::future::pending().await,
        Reaction::Reset => {
            talk.reset.store(true, Ordering::Release);
            talk.broken.notify_one();
            // Whoever ended this in an orderly way would say goodbye first.
            std::future::pending().await
        }
    }
}
