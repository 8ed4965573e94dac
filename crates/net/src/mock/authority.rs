//! Certificates for hosts that are mocked, signed by an authority that exists for one sandbox.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

/// Names for which certificates are kept.
const MOST_NAMES: usize = 1024;

/// Signs certificates. Whoever trusts it believes every mock, so its key never leaves this process.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// One key for all hosts.
    key: KeyPair,
    configurations: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

/// Why a certificate could not be made.
#[derive(Debug)]
pub(super) struct NoCertificate(String);

impl std::fmt::Display for NoCertificate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Authority {
    /// A new one.
    pub fn new() -> Result<Self, rcgen::Error> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, "menace sandbox");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?;
        Ok(Self { issuer, key: KeyPair::generate()?, configurations: Mutex::default() })
    }

    /// Its own certificate, for whoever is to trust it.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// How a host speaks TLS.
    pub(super) fn configuration(&self, host: &str) -> Result<Arc<ServerConfig>, NoCertificate> {
        // Nothing panics while it holds the lock, and the map is consistent after every line.
        let mut known = self.configurations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(configuration) = known.get(host) {
            return Ok(Arc::clone(configuration));
        }
        let made = Arc::new(self.make(host)?);
        if known.len() < MOST_NAMES {
            known.insert(host.to_owned(), Arc::clone(&made));
        }
        Ok(made)
    }

    fn make(&self, host: &str) -> Result<ServerConfig, NoCertificate> {
        let failed =
            |error: &dyn std::fmt::Display| NoCertificate(format!("no certificate for {host}: {error}"));
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

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authority").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_keeps_its_certificate_and_addresses_have_one_too() {
        let authority = Authority::new().unwrap();
        assert!(authority.certificate().starts_with("-----BEGIN CERTIFICATE-----"));
        let first = authority.configuration("api.example.com").unwrap();
        assert!(Arc::ptr_eq(&first, &authority.configuration("api.example.com").unwrap()));
        authority.configuration("198.19.0.1").unwrap();
        authority.configuration("ü").unwrap_err();
    }
}
