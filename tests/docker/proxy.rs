//! Proxy between menace and an engine that can be cut off, and that can add TLS.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::{ServerConfig, WebPkiClientVerifier};

/// Forwards connections until it is cut off.
pub(crate) struct EngineProxy {
    tasks: Arc<Mutex<Vec<AbortHandle>>>,
}

impl EngineProxy {
    /// Listens on a Unix socket.
    pub(crate) fn at(path: &Path, engine: &str) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let (proxy, engine) = (Self::new(), engine.to_owned());
        let tasks = Arc::clone(&proxy.tasks);
        proxy.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let task = tokio::spawn(pass_on(stream, engine.clone()));
                tasks.lock().unwrap().push(task.abort_handle());
            }
        });
        proxy
    }

    /// Listens on a Unix socket and refuses the next `refusals` requests to remove a container. It runs on its own thread for
    /// the whole test: dropping a sandbox blocks the thread of the runtime.
    pub(crate) fn refusing(path: &Path, engine: &str, refusals: &Arc<AtomicU32>) {
        let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (engine, refusals) = (engine.to_owned(), Arc::clone(refusals));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = UnixListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(refuse_or_pass_on(stream, engine.clone(), Arc::clone(&refusals)));
                }
            });
        });
    }

    /// Listens on a TCP port with TLS and client certificates, whose files are written to the directory.
    pub(crate) async fn with_tls(directory: &Path, engine: &str) -> (Self, u16) {
        let acceptor = acceptor(directory);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (proxy, engine) = (Self::new(), engine.to_owned());
        proxy.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, engine) = (acceptor.clone(), engine.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        pass_on(stream, engine).await;
                    }
                });
            }
        });
        (proxy, port)
    }

    fn new() -> Self {
        Self { tasks: Arc::default() }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.lock().unwrap().push(tokio::spawn(task).abort_handle());
    }

    /// Closes all connections and accepts no more.
    pub(crate) fn cut(&self) {
        self.tasks.lock().unwrap().drain(..).for_each(|task| task.abort());
    }
}

async fn pass_on(mut stream: impl AsyncRead + AsyncWrite + Unpin, engine: String) {
    let mut engine = UnixStream::connect(engine.trim_start_matches("unix://")).await.unwrap();
    // Either side may disconnect at any time.
    drop(copy_bidirectional(&mut stream, &mut engine).await);
}

/// Error response of an engine that cannot remove a container.
const REFUSED: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: 29\r\n\r\n{\"message\":\"it is held fast\"}";

/// Refuses a request to remove a container, or forwards the connection. Such a request has no body, so that it arrives in
/// one piece.
async fn refuse_or_pass_on(stream: UnixStream, engine: String, refusals: Arc<AtomicU32>) {
    let engine = UnixStream::connect(engine.trim_start_matches("unix://")).await.unwrap();
    let (mut from_caller, mut to_caller) = stream.into_split();
    let (mut from_engine, mut to_engine) = engine.into_split();
    let mut buffer = vec![0; 64 << 10];
    let mut answer = vec![0; 64 << 10];
    loop {
        tokio::select! {
            read = from_caller.read(&mut buffer) => {
                let Ok(length @ 1..) = read else { return };
                let piece = &buffer[..length];
                let removes = piece.starts_with(b"DELETE ") && contains(piece, b"/containers/");
                let left = |left: u32| left.checked_sub(1);
                if removes && refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_ok() {
                    to_caller.write_all(REFUSED).await.unwrap();
                } else if to_engine.write_all(piece).await.is_err() {
                    return;
                }
            }
            read = from_engine.read(&mut answer) => {
                let Ok(length @ 1..) = read else { return };
                if to_caller.write_all(&answer[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn acceptor(directory: &Path) -> TlsAcceptor {
    drop(rustls::crypto::ring::default_provider().install_default());
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::<String>::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, &authority_key);
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer);
        (key, certificate.unwrap())
    };
    let (client_key, client) = signed("client");
    for (name, text) in [
        ("ca.pem", authority_certificate.pem()),
        ("cert.pem", client.pem()),
        ("key.pem", client_key.serialize_pem()),
    ] {
        std::fs::write(directory.join(name), text).unwrap();
    }
    let (server_key, server) = signed("localhost");
    let mut roots = RootCertStore::empty();
    roots.add(authority_certificate.der().clone()).unwrap();
    let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap();
    let key = PrivateKeyDer::try_from(server_key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![server.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}
