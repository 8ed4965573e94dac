//! Server name (SNI) in the TLS `ClientHello` of a program.

use rustls::server::Acceptor;

/// Result of reading the first bytes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    /// Too few bytes to decide.
    NotYet,
    /// Not TLS.
    Nothing,
    /// TLS without a server name, or an invalid handshake.
    NoName,
    Name(String),
}

/// Content type `handshake`, the first byte of a TLS record.
const HANDSHAKE: u8 = 0x16;
/// Longest `ClientHello` that is accepted.
const MAX_CLIENT_HELLO: usize = 16 << 10;

pub(super) fn spoken_name(bytes: &[u8]) -> Spoken {
    match bytes.first() {
        None => return Spoken::NotYet,
        Some(&HANDSHAKE) => {}
        Some(_) => return Spoken::Nothing,
    }
    let mut acceptor = Acceptor::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        if acceptor.read_tls(&mut rest).is_err() {
            return Spoken::NoName;
        }
        match acceptor.accept() {
            Ok(Some(accepted)) => {
                let name = accepted.client_hello().server_name().map(str::to_ascii_lowercase);
                return name.map_or(Spoken::NoName, Spoken::Name);
            }
            Ok(None) => {}
            Err(_) => return Spoken::NoName,
        }
    }
    if bytes.len() < MAX_CLIENT_HELLO { Spoken::NotYet } else { Spoken::NoName }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn client_hello(name: &str) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let name = name.to_owned().try_into().unwrap();
        let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_name_is_read_from_a_complete_client_hello() {
        let whole = client_hello("API.example.com");
        assert_eq!(spoken_name(&whole), Spoken::Name("api.example.com".into()));
        for length in 0..whole.len() {
            assert_eq!(spoken_name(&whole[..length]), Spoken::NotYet, "{length} of {}", whole.len());
        }
    }

    #[test]
    fn connections_without_a_server_name_are_recognised() {
        assert_eq!(spoken_name(&client_hello("192.0.2.1")), Spoken::NoName);
        assert_eq!(spoken_name(b"GET / HTTP/1.1\r\n"), Spoken::Nothing);
        assert_eq!(spoken_name(&[HANDSHAKE; 300]), Spoken::NoName);
    }
}
