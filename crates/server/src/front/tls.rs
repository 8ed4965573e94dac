//! Certificates.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

/// The files of a certificate and its key.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate and those above it, as PEM.
    pub certificate: PathBuf,
    /// Its key, as PEM.
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("failed to read {path}: {source}", path = path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It has nothing of what it should have.
    #[error("{path} has no {what}\nhint: it has to be a PEM file", path = path.display())]
    Empty {
        /// Which.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// They do not go together.
    #[error("the certificate and the key cannot be used: {0}")]
    Wrong(#[from] rustls::Error),
}

impl TlsFiles {
    pub(super) fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        let certificates: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(&read(&self.certificate)?).filter_map(Result::ok).collect();
        if certificates.is_empty() {
            return Err(TlsError::Empty { path: self.certificate.clone(), what: "certificate" });
        }
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?)
            .map_err(|_| TlsError::Empty { path: self.key.clone(), what: "private key" })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}
