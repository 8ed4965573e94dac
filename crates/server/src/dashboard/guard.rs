//! Protection against attacks from other web pages: security headers and rejection of cross-origin requests.

use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::gateway::is_local_request;

/// Header that only our own page sends: for other origins it requires a CORS preflight, which is not answered.
pub(crate) const OURS: &str = "x-menace-dashboard";

/// Scripts and styles only from this origin, none inline, and no embedding into other pages.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Middleware that rejects cross-site changes and adds the security headers to every response.
pub(super) async fn protect(request: Request, next: Next) -> Response {
    let is_change = !request.method().is_safe();
    if is_change && !request.headers().contains_key(OURS) {
        return forbidden("missing dashboard header")
            .hint(format!("send the header {OURS}: 1"))
            .into_response();
    }
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// Middleware that accepts only loopback host names and same-origin pages; a DNS name that resolves to this machine is
/// rejected.
pub(super) async fn require_local(request: Request, next: Next) -> Response {
    let is_ours = {
        let text = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
        is_local_request(text(HOST).unwrap_or_default(), text(ORIGIN))
    };
    if !is_ours {
        return forbidden("only local requests to localhost or 127.0.0.1 are allowed").into_response();
    }
    next.run(request).await
}

fn forbidden(message: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "forbidden", message)
}
