//! A page must not be a way in: what browsers are told, and which requests are refused.

use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::front::is_of_this_machine;

/// A header that only our own page sends: another page that wants to would have to be allowed to first.
pub(crate) const OURS: &str = "x-menace-dashboard";

/// Scripts and styles come from us alone, nothing is inline, and nobody may put the page into theirs.
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

/// What browsers are told with every answer of the dashboard.
pub(super) async fn protect(request: Request, next: Next) -> Response {
    let is_change = !request.method().is_safe();
    if is_change && !request.headers().contains_key(OURS) {
        return refused("a change has to be asked for by the page itself")
            .hint(format!("send the header {OURS}: 1"))
            .into_response();
    }
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// Only this machine by its own name, and no page of another place: a name that leads here is not enough.
pub(super) async fn only_this_machine(request: Request, next: Next) -> Response {
    let is_ours = {
        let text = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
        is_of_this_machine(text(HOST).unwrap_or_default(), text(ORIGIN))
    };
    if !is_ours {
        return refused("only this machine may ask, by localhost or 127.0.0.1").into_response();
    }
    next.run(request).await
}

fn refused(message: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "forbidden", message)
}
