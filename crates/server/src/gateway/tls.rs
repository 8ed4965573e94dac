//! TLS certificates of the gateway.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use menace_model::{ErrorClass, ErrorDetails};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

/// Files of a certificate and its private key.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// Certificate chain, as PEM.
    pub certificate: PathBuf,
    /// Private key, as PEM.
    pub key: PathBuf,
}

/// Failure to load a certificate.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("failed to read {path}: {source}", path = path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Underlying error.
        #[source]
        source: io::Error,
    },
    /// A file does not contain the expected item.
    #[error("{path} has no {what}", path = path.display())]
    Empty {
        /// Path of the file.
        path: PathBuf,
        /// Missing item.
        what: &'static str,
    },
    /// The certificate or key is invalid, or they do not match.
    #[error("invalid certificate or private key: {0}")]
    Wrong(#[from] rustls::Error),
}

impl ErrorDetails for TlsError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Read { .. } | Self::Empty { .. } | Self::Wrong(_) => ErrorClass::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Empty { .. } => Some("use a PEM file".into()),
            Self::Read { .. } | Self::Wrong(_) => None,
        }
    }
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
