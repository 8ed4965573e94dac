//! A way to programs inside that listen: whatever is asked below a port is passed on.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{StatusCode, Uri};
use axum::response::Response;

use super::Shared;
use super::caller::CALLER_HEADER;
use crate::error::ApiError;
use crate::proxy::forward;
use crate::sandboxes::Caller;

/// Passes a request on to a program inside.
pub(super) async fn proxy(
    State(sandboxes): State<Shared>,
    caller: Caller,
    mut request: Request<Body>,
) -> Result<Response, ApiError> {
    let (id, port, rest) = parts(request.uri().path())
        .ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "not_found", "that is no port of a sandbox"))?;
    let (id, rest) = (id.to_owned(), rest.to_owned());
    let entry = sandboxes.find(&caller, &id)?;
    entry.check_running()?;
    let _used = entry.used();
    let stream = entry.sandbox.connect(port).await?;
    let prefix = format!("/api/sandboxes/{id}/ports/{port}");
    let target = match request.uri().query() {
        Some(query) => format!("/{rest}?{query}"),
        None => format!("/{rest}"),
    };
    let target: PathAndQuery =
        target.parse().map_err(|_| ApiError::invalid(format!("{target:?} is no path")))?;
    *request.uri_mut() = Uri::from(target);
    let headers = request.headers_mut();
    // Keys are for us; a program inside has no use for them but a bad one.
    for name in [CALLER_HEADER, "authorization", "x-api-key"] {
        headers.remove(name);
    }
    if let Ok(prefix) = prefix.parse() {
        headers.insert("x-forwarded-prefix", prefix);
    }
    forward(request, stream).await
}

/// The sandbox, the port and what comes after it, still encoded as the caller wrote it.
fn parts(path: &str) -> Option<(&str, u16, &str)> {
    let rest = path.strip_prefix("/api/sandboxes/")?;
    let (id, rest) = rest.split_once("/ports/")?;
    let (port, rest) = rest.split_once('/').unwrap_or((rest, ""));
    Some((id, port.parse().ok().filter(|port| *port != 0)?, rest))
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn what_comes_after_a_port_stays_as_it_is_written() {
        assert_eq!(parts("/api/sandboxes/sb-1/ports/80"), Some(("sb-1", 80, "")));
        assert_eq!(parts("/api/sandboxes/sb-1/ports/80/a%2Fb/../c"), Some(("sb-1", 80, "a%2Fb/../c")));
        assert_eq!(parts("/api/sandboxes/sb-1/ports/0/"), None);
        assert_eq!(parts("/api/sandboxes/sb-1/ports/99999/"), None);
    }
}
