//! Whether a request is let in, and as whom.

use std::net::SocketAddr;
use std::time::Instant;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN, SEC_WEBSOCKET_PROTOCOL};
use axum::http::{HeaderMap, HeaderValue, StatusCode};

use super::keys::{KeyRing, Refusal};
use super::rate::Rate;
use crate::api::TERMINAL_PROTOCOL;
use crate::clock;
use crate::error::ApiError;
use crate::sandboxes::Caller;

/// Who decides.
pub(super) struct Gate {
    pub(super) keys: KeyRing,
    /// Keys are needed even if there are none.
    pub(super) needs_key: bool,
    pub(super) rate: Rate<String>,
}

impl Gate {
    /// Who asks, or why that is refused.
    pub(super) fn enter(&self, headers: &HeaderMap, peer: SocketAddr) -> Result<Caller, ApiError> {
        let caller = self.caller(headers)?;
        let bucket = caller.key.clone().unwrap_or_else(|| peer.ip().to_string());
        self.rate.take(bucket, Instant::now()).map_err(|wait| {
            ApiError::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_requests",
                "that is more than may be asked",
            )
            .hint(format!("wait {:.2} s", wait.as_secs_f64()))
        })?;
        Ok(caller)
    }

    fn caller(&self, headers: &HeaderMap) -> Result<Caller, ApiError> {
        match key_of(headers) {
            Some(text) => self.of_key(&text),
            None if self.needs_key || !self.keys.is_empty() => Err(unauthorized("no key was sent")),
            None => of_nobody(headers).map(|()| Caller::default()),
        }
    }

    fn of_key(&self, text: &str) -> Result<Caller, ApiError> {
        let key = self.keys.find(text, clock::now_ms()).map_err(|refusal| {
            unauthorized(match refusal {
                Refusal::Unknown => "that is none of our keys",
                Refusal::Expired => "the time of this key is over",
                Refusal::Revoked => "this key was taken back",
            })
        })?;
        Ok(Caller { key: Some(key.id), quota: key.quota })
    }
}

fn unauthorized(message: &str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
        .hint("send Authorization: Bearer mnc_… or X-API-Key: mnc_…; menace keys create makes one")
}

fn key_of(headers: &HeaderMap) -> Option<String> {
    let bearer = headers.get(AUTHORIZATION).and_then(|header| {
        let (scheme, key) = header.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim().to_owned())
    });
    // A header that is there and means nothing is a wrong key, not none.
    let other = || headers.get("x-api-key").map(|header| header.to_str().unwrap_or_default().to_owned());
    bearer
        .or_else(other)
        .or_else(|| key_of_socket(headers))
        .or_else(|| headers.contains_key(AUTHORIZATION).then(String::new))
}

/// Pages cannot send headers with a WebSocket. They can name protocols, and one of those is the key.
fn key_of_socket(headers: &HeaderMap) -> Option<String> {
    let named = headers.get(SEC_WEBSOCKET_PROTOCOL)?.to_str().ok()?;
    named.split(',').find_map(|one| one.trim().strip_prefix(SOCKET_KEY).map(str::to_owned))
}

/// What such a protocol begins with.
const SOCKET_KEY: &str = "menace.key.";

/// Takes the key out of the protocols, as whoever holds sandboxes need not know it.
pub(super) fn without_socket_key(headers: &mut HeaderMap) {
    if key_of_socket(headers).is_some() {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(TERMINAL_PROTOCOL));
    }
}

/// Without keys everybody on this machine may ask, but no page of the internet in a browser of this machine: such a page has
/// another origin, or reaches us by a name of its own.
fn of_nobody(headers: &HeaderMap) -> Result<(), ApiError> {
    let forbidden = |message: &str| {
        ApiError::new(StatusCode::FORBIDDEN, "forbidden", message)
            .hint("without keys only this machine may ask, by localhost or 127.0.0.1; menace keys create makes a key")
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
    match is_of_this_machine(host, origin) {
        true => Ok(()),
        false if is_local(host) => Err(forbidden("another page may not ask")),
        false => Err(forbidden(&format!("nobody is served by the name {host:?}"))),
    }
}

/// Whether a request was sent to this machine by its own name, and by no page of another place.
pub(crate) fn is_of_this_machine(host: &str, origin: Option<&str>) -> bool {
    let is_own = |origin: &str| origin.split_once("://").is_some_and(|(_, place)| place == host);
    is_local(host) && origin.is_none_or(is_own)
}

fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::super::keys::new_key;
    use super::*;
    use crate::sandboxes::Quota;

    fn gate(keys: KeyRing) -> Gate {
        Gate { keys, needs_key: false, rate: Rate::new(1e6, 1e6) }
    }

    fn entered(gate: &Gate, headers: &[(&'static str, &str)]) -> Result<Caller, u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        gate.enter(&map, "127.0.0.1:1".parse().unwrap()).map_err(|error| error.status().as_u16())
    }

    #[test]
    fn without_keys_only_this_machine_may_ask() {
        let open = gate(KeyRing::default());
        for host in ["localhost:8888", "127.0.0.1", "[::1]:8888", "LOCALHOST"] {
            assert_eq!(entered(&open, &[("host", host)]), Ok(Caller::default()), "{host}");
        }
        for host in ["evil.example", "evil.example:8888", "10.0.0.1", ""] {
            assert_eq!(entered(&open, &[("host", host)]), Err(403), "{host}");
        }
        let with_origin = |origin| entered(&open, &[("host", "localhost:8888"), ("origin", origin)]);
        assert_eq!(with_origin("http://localhost:8888"), Ok(Caller::default()));
        assert_eq!(with_origin("https://evil.example"), Err(403));
        assert_eq!(with_origin("null"), Err(403));
    }

    #[test]
    fn with_keys_a_key_is_needed() {
        let (text, key) = new_key("ci", Quota { sandboxes: Some(3), ..Quota::default() }, None);
        let ring = KeyRing::default();
        ring.replace([key.clone()]);
        let closed = gate(ring);
        assert_eq!(entered(&closed, &[("host", "localhost")]), Err(401));
        let caller = Caller { key: Some(key.id), quota: key.quota };
        let named = format!("menace.terminal, menace.key.{text}");
        let ways = [
            ("authorization", format!("Bearer {text}")),
            ("x-api-key", text.clone()),
            ("sec-websocket-protocol", named.clone()),
        ];
        for headers in ways {
            assert_eq!(
                entered(&closed, &[("host", "evil.example"), (headers.0, &headers.1)]),
                Ok(caller.clone())
            );
        }
        // Whoever holds sandboxes is not told the key.
        let mut passed = HeaderMap::new();
        passed.insert(SEC_WEBSOCKET_PROTOCOL, named.parse().unwrap());
        without_socket_key(&mut passed);
        assert_eq!(passed[SEC_WEBSOCKET_PROTOCOL], TERMINAL_PROTOCOL);
        for wrong in ["Bearer mnc_nonsense", "Basic abc", "Bearer"] {
            assert_eq!(
                entered(&closed, &[("host", "localhost"), ("authorization", wrong)]),
                Err(401),
                "{wrong}"
            );
        }
    }
}
