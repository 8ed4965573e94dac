//! HTTP reverse proxy over a single connection: to the sandbox daemon, and to programs inside sandboxes.

use axum::body::Body;
use axum::http::header::{CONNECTION, HOST, TRANSFER_ENCODING, UPGRADE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use axum::response::IntoResponse;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use menace_sandbox::SandboxConnection;
use tower_http::timeout::TimeoutError;

use crate::error::ApiError;

/// Hop-by-hop headers (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [HeaderName; 6] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("te"),
];

/// Forwards a request with its path and headers. An upgraded connection, such as a WebSocket, stays open until either side
/// closes it.
pub(crate) async fn forward(
    mut request: Request<Body>,
    stream: Box<dyn SandboxConnection>,
) -> Result<Response<Body>, ApiError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!("a forwarded connection ended: {error}");
        }
    });
    let wants_upgrade = request.headers().get(UPGRADE).cloned();
    let caller = hyper::upgrade::on(&mut request);
    clean(request.headers_mut(), wants_upgrade.as_ref());
    if !request.headers().contains_key(HOST) {
        request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
    }
    let mut response = sender.send_request(request).await.map_err(failed)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let upstream = hyper::upgrade::on(&mut response);
        tokio::spawn(async move {
            if let (Ok(caller), Ok(upstream)) = (caller.await, upstream.await) {
                let (mut caller, mut upstream) = (TokioIo::new(caller), TokioIo::new(upstream));
                // Either side may close the connection at any time.
                drop(tokio::io::copy_bidirectional(&mut caller, &mut upstream).await);
            }
        });
    } else {
        clean(response.headers_mut(), None);
    }
    Ok(response.into_response())
}

/// The error for a missing response: a timeout of the caller's body, or a failure of the upstream.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it by value")]
fn failed(error: hyper::Error) -> ApiError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(one) = cause {
        if one.is::<TimeoutError>() {
            let message = "timed out waiting for the rest of the request body";
            return ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message)
                .hint("send the body without pauses, or start 'menace serve' with a longer --patience");
        }
        cause = one.source();
    }
    ApiError::new(StatusCode::BAD_GATEWAY, "bad_gateway", format!("no response from upstream: {error}"))
}

/// Removes hop-by-hop headers, except those of an upgrade.
fn clean(headers: &mut HeaderMap, upgrade: Option<&HeaderValue>) {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    if let Some(upgrade) = upgrade {
        headers.insert(UPGRADE, upgrade.clone());
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    }
}
