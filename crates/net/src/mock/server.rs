//! Mocks at work, on a thread of their own.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use menace_model::network::NetworkSpec;
use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_rustls::LazyConfigAcceptor;

use super::authority::Authority;
use super::body::{BrokenOff, Content};
use super::respond::{Reaction, respond};
use super::rules::Rules;
use crate::stack::{Command, Inbox};

/// The longest body of a request that is read.
const LONGEST_BODY: usize = 16 << 20;
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
    while let Some(conversation) = conversations.recv().await {
        tokio::spawn(serve(conversation, Arc::clone(rules), authority.cloned()));
    }
}

async fn serve(conversation: Conversation, rules: Arc<Rules>, authority: Option<Arc<Authority>>) {
    if let Err(error) = converse(conversation, rules, authority).await {
        tracing::debug!("a conversation with a mock ended: {error}");
    }
}

type Problem = Box<dyn std::error::Error + Send + Sync>;

async fn converse(
    conversation: Conversation,
    rules: Arc<Rules>,
    authority: Option<Arc<Authority>>,
) -> Result<(), Problem> {
    let Conversation { stream, host, port, token, reset, inbox } = conversation;
    let stream = UnixStream::from_std(stream.into())?;
    let talk = Arc::new(Talk { rules, host, port, token, reset, inbox, broken: Notify::new() });
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
    /// Tells that the connection is to be broken.
    broken: Notify,
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    talk: Arc<Talk>,
) -> Result<(), Problem> {
    let mut builder = Builder::new(TokioExecutor::new());
    // Answers are the same each time, and a date is not.
    builder.http1().auto_date_header(false).timer(TokioTimer::new());
    builder.http2().auto_date_header(false);
    let service = service_fn(|request| react(Arc::clone(&talk), request));
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    tokio::select! {
        ended = connection => ended,
        () = talk.broken.notified() => Ok(()),
    }
}

async fn react(talk: Arc<Talk>, request: Request<Incoming>) -> Result<Response<Content>, BrokenOff> {
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, LONGEST_BODY).collect().await.map_err(|_| BrokenOff)?.to_bytes();
    let decided = respond(&talk.rules, (&talk.host, talk.port), &parts, &body);
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
