//! The name that a program says when it begins to speak TLS.

use rustls::server::Acceptor;

/// What was said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    /// Too little to know.
    NotYet,
    /// It is not TLS, and names no host.
    Nothing,
    /// It is TLS without a name, or something that only begins like it.
    NoName,
    Name(String),
}

/// `handshake` as the first byte of a record.
const HANDSHAKE: u8 = 0x16;
/// A greeting that is longer is none.
const LONGEST: usize = 16 << 10;

pub(super) fn spoken_name(said: &[u8]) -> Spoken {
    match said.first() {
        None => return Spoken::NotYet,
        Some(&HANDSHAKE) => {}
        Some(_) => return Spoken::Nothing,
    }
    let mut acceptor = Acceptor::default();
    let mut rest = said;
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
    if said.len() < LONGEST { Spoken::NotYet } else { Spoken::NoName }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn greeting(name: &str) -> Vec<u8> {
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
    fn a_name_is_known_when_all_of_the_greeting_is_there() {
        let whole = greeting("API.example.com");
        assert_eq!(spoken_name(&whole), Spoken::Name("api.example.com".into()));
        for length in 0..whole.len() {
            assert_eq!(spoken_name(&whole[..length]), Spoken::NotYet, "{length} of {}", whole.len());
        }
    }

    #[test]
    fn without_a_name_there_is_none() {
        assert_eq!(spoken_name(&greeting("192.0.2.1")), Spoken::NoName);
        assert_eq!(spoken_name(b"GET / HTTP/1.1\r\n"), Spoken::Nothing);
        assert_eq!(spoken_name(&[HANDSHAKE; 300]), Spoken::NoName);
    }
}
