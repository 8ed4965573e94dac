//! Client of the sandbox daemon on this machine.

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use menace_model::{ErrorClass, ErrorDetails};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::daemon::{DaemonConnectError, DaemonConnector};
use crate::error::ErrorBody;
use crate::proxy::forward;

/// Failure of a request to the service.
#[derive(Debug, Error)]
pub enum DaemonClientError {
    /// The sandbox daemon could not be reached.
    #[error("{0}")]
    Keeper(#[from] DaemonConnectError),
    /// The service answered with an error.
    #[error("{}", .body.error.message)]
    Refused {
        /// HTTP status of the answer.
        status: StatusCode,
        /// The answer.
        body: Box<ErrorBody>,
    },
    /// The service accepted the request and did not answer.
    #[error("{0}")]
    NoAnswer(String),
    /// The response could not be parsed.
    #[error("failed to parse the response of the service: {0}")]
    Answer(String),
}

impl ErrorDetails for DaemonClientError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Keeper(error) => error.class(),
            Self::Refused { status, .. } => class_of(*status),
            Self::NoAnswer(_) => ErrorClass::Unreachable,
            Self::Answer(_) => ErrorClass::Bug,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Keeper(error) => error.hint(),
            Self::Refused { body, .. } => body.error.hint.clone(),
            Self::NoAnswer(_) | Self::Answer(_) => None,
        }
    }
}

/// Kind of the error behind a status: whether the request has to change, or the service failed.
fn class_of(status: StatusCode) -> ErrorClass {
    match status {
        StatusCode::NOT_FOUND => ErrorClass::NotFound,
        StatusCode::CONFLICT => ErrorClass::Conflict,
        StatusCode::SERVICE_UNAVAILABLE => ErrorClass::LimitExceeded,
        StatusCode::INSUFFICIENT_STORAGE => ErrorClass::StorageFull,
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => ErrorClass::Unreachable,
        status if status.is_client_error() => ErrorClass::Usage,
        _ => ErrorClass::Environment,
    }
}

/// Sends requests to the sandbox daemon.
#[derive(Clone)]
pub struct DaemonClient {
    keeper: DaemonConnector,
}

impl DaemonClient {
    /// Creates a client on top of a connection to the daemon.
    pub fn new(keeper: DaemonConnector) -> Self {
        Self { keeper }
    }

    /// Sends a request unchanged.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, DaemonClientError> {
        let stream = self.keeper.connect().await?;
        let response = forward(request, Box::new(stream)).await;
        let response = response.map_err(|error| DaemonClientError::NoAnswer(error.message().to_owned()))?;
        if response.status().is_client_error() || response.status().is_server_error() {
            return Err(response_error(response).await);
        }
        Ok(response)
    }

    /// Sends a request with an optional JSON body and parses the JSON response.
    pub async fn request_json<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<serde_json::Value>,
    ) -> Result<T, DaemonClientError> {
        let bytes = self.bytes(method, path, body).await?;
        // A response without a body (204) parses as null.
        let bytes = if bytes.is_empty() { b"null".to_vec() } else { bytes };
        serde_json::from_slice(&bytes).map_err(|error| DaemonClientError::Answer(error.to_string()))
    }

    /// Shuts the daemon down unless a server still needs it: true if it shuts down, `None` if it is not running.
    pub async fn shut_down_if_unused(&self) -> Result<Option<bool>, DaemonClientError> {
        let Some(stream) = self.keeper.connect_if_there().await? else { return Ok(None) };
        let request =
            Request::builder().method("POST").uri("/internal/end?unattended=true").body(Body::empty());
        let request = request.map_err(|error| DaemonClientError::Answer(error.to_string()))?;
        let response = forward(request, Box::new(stream)).await;
        let response = response.map_err(|error| DaemonClientError::NoAnswer(error.message().to_owned()))?;
        Ok(Some(response.status().is_success()))
    }

    /// Sends bytes with a PUT request.
    pub async fn put(&self, path: &str, bytes: Vec<u8>) -> Result<(), DaemonClientError> {
        let request = Request::builder().method("PUT").uri(path).body(Body::from(bytes));
        self.send(request.map_err(|error| DaemonClientError::Answer(error.to_string()))?).await.map(drop)
    }

    /// Sends a request with an optional JSON body and returns the body of the response.
    pub async fn bytes(
        &self,
        method: &str,
        path: &str,
        body: Option<serde_json::Value>,
    ) -> Result<Vec<u8>, DaemonClientError> {
        let builder = Request::builder().method(method).uri(path);
        let request = match body {
            None => builder.body(Body::empty()),
            Some(body) => builder
                .header("content-type", "application/json")
                .body(Body::from(serde_json::to_vec(&body).unwrap_or_default())),
        };
        let request = request.map_err(|error| DaemonClientError::Answer(error.to_string()))?;
        let response = self.send(request).await?;
        let body = response.into_body().collect().await;
        body.map(|body| body.to_bytes().to_vec())
            .map_err(|error| DaemonClientError::Answer(error.to_string()))
    }
}

async fn response_error(response: Response<Body>) -> DaemonClientError {
    let status = response.status();
    let body =
        response.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    match serde_json::from_slice::<ErrorBody>(&body) {
        Ok(body) => DaemonClientError::Refused { status, body: Box::new(body) },
        Err(_) => DaemonClientError::Answer(format!("{status}: {}", String::from_utf8_lossy(&body))),
    }
}

/// Percent-encodes a path for use in a URL.
pub fn encoded(path: &str) -> String {
    path.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn paths_are_encoded() {
        assert_eq!(encoded("a b/ü.txt?"), "a%20b/%C3%BC.txt%3F");
    }
}
