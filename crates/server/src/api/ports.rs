//! HTTP proxy to programs that listen on a port inside a sandbox.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{StatusCode, Uri};
use axum::response::Response;

use super::SharedSandboxes;
use super::extractors::CALLER_HEADER;
use crate::error::ApiError;
use crate::proxy::forward;
use crate::sandboxes::Caller;

/// Forwards a request to a program inside a sandbox.
pub(super) async fn proxy(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    mut request: Request<Body>,
) -> Result<Response, ApiError> {
    let (id, port, rest) = parts(request.uri().path())
        .ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "not_found", "invalid port"))?;
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
        target.parse().map_err(|_| ApiError::invalid(format!("invalid path {target:?}")))?;
    *request.uri_mut() = Uri::from(target);
    let headers = request.headers_mut();
    // API keys must not reach the untrusted program inside.
    for name in [CALLER_HEADER, "authorization", "x-api-key"] {
        headers.remove(name);
    }
    if let Ok(prefix) = prefix.parse() {
        headers.insert("x-forwarded-prefix", prefix);
    }
    forward(request, stream).await
}

/// Sandbox id, port and remaining path, still percent-encoded.
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
    fn the_path_after_the_port_stays_encoded() {
        assert_eq!(parts("/api/sandboxes/sb-1/ports/80"), Some(("sb-1", 80, "")));
        assert_eq!(parts("/api/sandboxes/sb-1/ports/80/a%2Fb/../c"), Some(("sb-1", 80, "a%2Fb/../c")));
        assert_eq!(parts("/api/sandboxes/sb-1/ports/0/"), None);
        assert_eq!(parts("/api/sandboxes/sb-1/ports/99999/"), None);
    }
}
