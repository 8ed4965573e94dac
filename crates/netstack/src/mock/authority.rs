//! Certificates of mocked hosts, signed by a certificate authority that exists for one sandbox.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

/// Number of names whose certificates are cached.
const MAX_NAMES: usize = 1024;

/// Certificate authority of one sandbox. A client that trusts it trusts every mock, so its key never leaves this process.
pub struct MockCertificateAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// One key for all hosts.
    key: KeyPair,
    configurations: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

/// Reason why a certificate could not be created.
#[derive(Debug)]
pub(super) struct MockCertificateError(String);

impl std::fmt::Display for MockCertificateError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl MockCertificateAuthority {
    /// Creates an authority with a new key.
    pub fn new() -> Result<Self, rcgen::Error> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, "menace sandbox");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?;
        Ok(Self { issuer, key: KeyPair::generate()?, configurations: Mutex::default() })
    }

    /// Its own certificate in PEM, to be installed as trusted.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// TLS configuration of a host.
    pub(super) fn configuration(&self, host: &str) -> Result<Arc<ServerConfig>, MockCertificateError> {
        // Nothing panics while it holds the lock, and the map is consistent after every line.
        let mut cached = self.configurations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(configuration) = cached.get(host) {
            return Ok(Arc::clone(configuration));
        }
        let created = Arc::new(self.create_configuration(host)?);
        if cached.len() < MAX_NAMES {
            cached.insert(host.to_owned(), Arc::clone(&created));
        }
        Ok(created)
    }

    fn create_configuration(&self, host: &str) -> Result<ServerConfig, MockCertificateError> {
        let failed = |error: &dyn std::fmt::Display| {
            MockCertificateError(format!("failed to create a certificate for {host}: {error}"))
        };
        let mut parameters = CertificateParams::new(vec![host.to_owned()]).map_err(|error| failed(&error))?;
        parameters.distinguished_name.push(DnType::CommonName, "menace mock");
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        parameters.use_authority_key_identifier_extension = true;
        let certificate = parameters.signed_by(&self.key, &self.issuer).map_err(|error| failed(&error))?;
        let chain = vec![certificate.der().clone(), self.issuer.der().clone()];
        let key = PrivateKeyDer::Pkcs8(self.key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut configuration = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| failed(&error))?;
        configuration.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(configuration)
    }
}

impl std::fmt::Debug for MockCertificateAuthority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authority").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_cached_and_also_issued_for_addresses() {
        let authority = MockCertificateAuthority::new().unwrap();
        assert!(authority.certificate().starts_with("-----BEGIN CERTIFICATE-----"));
        let first = authority.configuration("api.example.com").unwrap();
        assert!(Arc::ptr_eq(&first, &authority.configuration("api.example.com").unwrap()));
        authority.configuration("198.19.0.1").unwrap();
        authority.configuration("ü").unwrap_err();
    }
}
