//! Server name (SNI) in the TLS `ClientHello` of a program.

use rustls::server::Acceptor;

/// Result of reading the first bytes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ServerNameResult {
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

pub(super) fn read_server_name(bytes: &[u8]) -> ServerNameResult {
    match bytes.first() {
        None => return ServerNameResult::NotYet,
        Some(&HANDSHAKE) => {}
        Some(_) => return ServerNameResult::Nothing,
    }
    let mut acceptor = Acceptor::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        if acceptor.read_tls(&mut rest).is_err() {
            return ServerNameResult::NoName;
        }
        match acceptor.accept() {
            Ok(Some(accepted)) => {
                let name = accepted.client_hello().server_name().map(str::to_ascii_lowercase);
                return name.map_or(ServerNameResult::NoName, ServerNameResult::Name);
            }
            Ok(None) => {}
            Err(_) => return ServerNameResult::NoName,
        }
    }
    if bytes.len() < MAX_CLIENT_HELLO { ServerNameResult::NotYet } else { ServerNameResult::NoName }
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
        assert_eq!(read_server_name(&whole), ServerNameResult::Name("api.example.com".into()));
        for length in 0..whole.len() {
            assert_eq!(
                read_server_name(&whole[..length]),
                ServerNameResult::NotYet,
                "{length} of {}",
                whole.len()
            );
        }
    }

    #[test]
    fn connections_without_a_server_name_are_recognised() {
        assert_eq!(read_server_name(&client_hello("192.0.2.1")), ServerNameResult::NoName);
        assert_eq!(read_server_name(b"GET / HTTP/1.1\r\n"), ServerNameResult::Nothing);
        assert_eq!(read_server_name(&[HANDSHAKE; 300]), ServerNameResult::NoName);
    }
}
