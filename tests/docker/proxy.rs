//! Something between menace and an engine that can be cut, and that can speak TLS where the engine does not.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::{ServerConfig, WebPkiClientVerifier};

/// Passes on connections until it is cut.
pub(crate) struct Proxy {
    tasks: Arc<Mutex<Vec<AbortHandle>>>,
}

impl Proxy {
    /// At a socket of its own.
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

    /// At a port, for those who have a certificate. The directory gets what they need.
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

    /// Ends all connections, and takes no more.
    pub(crate) fn cut(&self) {
        self.tasks.lock().unwrap().drain(..).for_each(|task| task.abort());
    }
}

async fn pass_on(mut stream: impl AsyncRead + AsyncWrite + Unpin, engine: String) {
    let mut engine = UnixStream::connect(engine.trim_start_matches("unix://")).await.unwrap();
    // Either side may go at any time.
    drop(copy_bidirectional(&mut stream, &mut engine).await);
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
