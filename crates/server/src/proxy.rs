//! Passes a request on over a connection, and the answer back: to whoever holds sandboxes, and to programs inside them.

use axum::body::Body;
use axum::http::header::{CONNECTION, HOST, TRANSFER_ENCODING, UPGRADE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use axum::response::IntoResponse;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use menace_sandbox::Connection;
use tower_http::timeout::TimeoutError;

use crate::error::ApiError;

/// Headers that belong to one connection alone.
const OF_CONNECTION: [HeaderName; 6] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("te"),
];

/// Passes a request on, with the path and headers that it has. A connection that becomes something else, such as a WebSocket,
/// stays open for as long as both sides want.
pub(crate) async fn forward(
    mut request: Request<Body>,
    stream: Box<dyn Connection>,
) -> Result<Response<Body>, ApiError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!("a connection that was passed on ended: {error}");
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
        let answered = hyper::upgrade::on(&mut response);
        tokio::spawn(async move {
            if let (Ok(caller), Ok(answered)) = (caller.await, answered.await) {
                let (mut caller, mut answered) = (TokioIo::new(caller), TokioIo::new(answered));
                // Either side may hang up at any time.
                drop(tokio::io::copy_bidirectional(&mut caller, &mut answered).await);
            }
        });
    } else {
        clean(response.headers_mut(), None);
    }
    Ok(response.into_response())
}

/// Whose fault it is that nothing was answered.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn failed(error: hyper::Error) -> ApiError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(one) = cause {
        if one.is::<TimeoutError>() {
            let message = "the rest of the request did not come in time";
            return ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message)
                .hint("send it in one go, or start menace serve with a longer --patience");
        }
        cause = one.source();
    }
    ApiError::new(StatusCode::BAD_GATEWAY, "bad_gateway", format!("who should answer did not: {error}"))
}

/// Removes what belongs to one connection, but what turns it into something else.
fn clean(headers: &mut HeaderMap, upgrade: Option<&HeaderValue>) {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
    if let Some(upgrade) = upgrade {
        headers.insert(UPGRADE, upgrade.clone());
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    }
}
