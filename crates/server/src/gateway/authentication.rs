//! Authentication and rate limiting of requests.

use std::net::SocketAddr;
use std::time::Instant;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN, SEC_WEBSOCKET_PROTOCOL};
use axum::http::{HeaderMap, HeaderValue, StatusCode};

use super::api_keys::{ApiKeyRejection, ApiKeyRing};
use super::rate_limiter::RateLimiter;
use crate::api::TERMINAL_PROTOCOL;
use crate::clock;
use crate::error::ApiError;
use crate::sandboxes::Caller;

/// Decides which requests are accepted.
pub(super) struct RequestAuthenticator {
    pub(super) keys: ApiKeyRing,
    /// A key is required even if none exist.
    pub(super) needs_key: bool,
    pub(super) rate: RateLimiter<String>,
}

impl RequestAuthenticator {
    /// Authenticates the caller of a request and applies its rate limit.
    pub(super) fn authenticate(&self, headers: &HeaderMap, peer: SocketAddr) -> Result<Caller, ApiError> {
        let caller = self.caller(headers)?;
        let bucket = caller.key.clone().unwrap_or_else(|| peer.ip().to_string());
        self.rate.take(bucket, Instant::now()).map_err(|wait| {
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", "rate limit exceeded")
                .hint(format!("retry after {:.2} s", wait.as_secs_f64()))
        })?;
        Ok(caller)
    }

    fn caller(&self, headers: &HeaderMap) -> Result<Caller, ApiError> {
        match key_in_headers(headers) {
            Some(text) => self.caller_of_key(&text),
            None if self.needs_key || !self.keys.is_empty() => Err(unauthorized("missing API key")),
            None => check_anonymous(headers).map(|()| Caller::default()),
        }
    }

    fn caller_of_key(&self, text: &str) -> Result<Caller, ApiError> {
        let key = self.keys.find(text, clock::now_ms()).map_err(|refusal| {
            unauthorized(match refusal {
                ApiKeyRejection::Unknown => "unknown API key",
                ApiKeyRejection::Expired => "API key has expired",
                ApiKeyRejection::Revoked => "API key was revoked",
            })
        })?;
        Ok(Caller { key: Some(key.id), quota: key.quota })
    }
}

fn unauthorized(message: &str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
        .hint("send Authorization: Bearer mnc_… or X-API-Key: mnc_…; create a key with 'menace keys create'")
}

fn key_in_headers(headers: &HeaderMap) -> Option<String> {
    let bearer = headers.get(AUTHORIZATION).and_then(|header| {
        let (scheme, key) = header.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim().to_owned())
    });
    // A header that cannot be parsed counts as a wrong key, not as a missing one.
    let other = || headers.get("x-api-key").map(|header| header.to_str().unwrap_or_default().to_owned());
    bearer
        .or_else(other)
        .or_else(|| key_in_subprotocols(headers))
        .or_else(|| headers.contains_key(AUTHORIZATION).then(String::new))
}

/// Browsers cannot set headers on a WebSocket, so pages send the key as one of the requested subprotocols.
fn key_in_subprotocols(headers: &HeaderMap) -> Option<String> {
    let named = headers.get(SEC_WEBSOCKET_PROTOCOL)?.to_str().ok()?;
    named.split(',').find_map(|one| one.trim().strip_prefix(SOCKET_KEY).map(str::to_owned))
}

/// Prefix of the subprotocol that carries the key.
const SOCKET_KEY: &str = "menace.key.";

/// Removes the key from the requested subprotocols, since the sandbox daemon does not need it.
pub(super) fn without_socket_key(headers: &mut HeaderMap) {
    if key_in_subprotocols(headers).is_some() {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(TERMINAL_PROTOCOL));
    }
}

/// Without API keys every local program is served, but not a page from the internet in a local browser. Such a page has
/// another origin, or reaches us by its own host name (DNS rebinding).
fn check_anonymous(headers: &HeaderMap) -> Result<(), ApiError> {
    let forbidden = |message: &str| {
        ApiError::new(StatusCode::FORBIDDEN, "forbidden", message)
            .hint("without API keys, use localhost or 127.0.0.1 on this machine; create a key with 'menace keys create'")
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
    match is_local_request(host, origin) {
        true => Ok(()),
        false if is_local(host) => Err(forbidden("requests from another origin are not allowed")),
        false => Err(forbidden(&format!("host name {host:?} is not allowed"))),
    }
}

/// True if the request uses a loopback host name and does not come from a page of another origin.
pub(crate) fn is_local_request(host: &str, origin: Option<&str>) -> bool {
    let is_own = |origin: &str| origin.split_once("://").is_some_and(|(_, authority)| authority == host);
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
    use super::super::api_keys::new_key;
    use super::*;
    use crate::sandboxes::Quota;

    fn gate_with(keys: ApiKeyRing) -> RequestAuthenticator {
        RequestAuthenticator { keys, needs_key: false, rate: RateLimiter::new(1e6, 1e6) }
    }

    fn status_of(gate: &RequestAuthenticator, headers: &[(&'static str, &str)]) -> Result<Caller, u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        gate.authenticate(&map, "127.0.0.1:1".parse().unwrap()).map_err(|error| error.status().as_u16())
    }

    #[test]
    fn without_keys_only_local_requests_are_accepted() {
        let open = gate_with(ApiKeyRing::default());
        for host in ["localhost:8888", "127.0.0.1", "[::1]:8888", "LOCALHOST"] {
            assert_eq!(status_of(&open, &[("host", host)]), Ok(Caller::default()), "{host}");
        }
        for host in ["evil.example", "evil.example:8888", "10.0.0.1", ""] {
            assert_eq!(status_of(&open, &[("host", host)]), Err(403), "{host}");
        }
        let with_origin = |origin| status_of(&open, &[("host", "localhost:8888"), ("origin", origin)]);
        assert_eq!(with_origin("http://localhost:8888"), Ok(Caller::default()));
        assert_eq!(with_origin("https://evil.example"), Err(403));
        assert_eq!(with_origin("null"), Err(403));
    }

    #[test]
    fn with_keys_a_key_is_required() {
        let (text, key) = new_key("ci", Quota { sandboxes: Some(3), ..Quota::default() }, None);
        let ring = ApiKeyRing::default();
        ring.replace([key.clone()]);
        let closed = gate_with(ring);
        assert_eq!(status_of(&closed, &[("host", "localhost")]), Err(401));
        let caller = Caller { key: Some(key.id), quota: key.quota };
        let named = format!("menace.terminal, menace.key.{text}");
        let ways = [
            ("authorization", format!("Bearer {text}")),
            ("x-api-key", text.clone()),
            ("sec-websocket-protocol", named.clone()),
        ];
        for headers in ways {
            assert_eq!(
                status_of(&closed, &[("host", "evil.example"), (headers.0, &headers.1)]),
                Ok(caller.clone())
            );
        }
        // The sandbox daemon does not receive the key.
        let mut passed = HeaderMap::new();
        passed.insert(SEC_WEBSOCKET_PROTOCOL, named.parse().unwrap());
        without_socket_key(&mut passed);
        assert_eq!(passed[SEC_WEBSOCKET_PROTOCOL], TERMINAL_PROTOCOL);
        for wrong in ["Bearer mnc_nonsense", "Basic abc", "Bearer"] {
            assert_eq!(
                status_of(&closed, &[("host", "localhost"), ("authorization", wrong)]),
                Err(401),
                "{wrong}"
            );
        }
    }
}
