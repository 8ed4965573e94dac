//! Asks a service: over the network, or whoever holds sandboxes on this machine.

use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::error::ErrorBody;
use crate::keeper::{Keeper, KeeperError};
use crate::proxy::forward;

/// Why a question has no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody is there.
    #[error("{0}")]
    Keeper(#[from] KeeperError),
    /// It was refused.
    #[error("{}", refused(.0))]
    Refused(Box<ErrorBody>),
    /// The answer means nothing.
    #[error("the answer of the service cannot be understood: {0}")]
    Answer(String),
}

fn refused(body: &ErrorBody) -> String {
    match &body.error.hint {
        Some(hint) => format!("{}\nhint: {hint}", body.error.message),
        None => body.error.message.clone(),
    }
}

/// Somebody who asks.
#[derive(Clone)]
pub struct Client {
    keeper: Keeper,
}

impl Client {
    /// Asks whoever holds sandboxes on this machine.
    pub fn new(keeper: Keeper) -> Self {
        Self { keeper }
    }

    /// Sends a request as it is.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, ClientError> {
        let stream = self.keeper.connect().await?;
        let response = forward(request, Box::new(stream)).await;
        let response = response.map_err(|error| ClientError::Answer(error.message().to_owned()))?;
        if response.status().is_client_error() || response.status().is_server_error() {
            return Err(problem(response).await);
        }
        Ok(response)
    }

    /// Asks, with a body if there is one, and reads the answer.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<serde_json::Value>,
    ) -> Result<T, ClientError> {
        let bytes = self.bytes(method, path, body).await?;
        // What has no body answers nothing.
        let bytes = if bytes.is_empty() { b"null".to_vec() } else { bytes };
        serde_json::from_slice(&bytes).map_err(|error| ClientError::Answer(error.to_string()))
    }

    /// Ends whoever holds sandboxes, if there is somebody and no server needs it. Nothing if there is nobody.
    pub async fn end_unattended(&self) -> Result<Option<bool>, ClientError> {
        let Some(stream) = self.keeper.connect_if_there().await? else { return Ok(None) };
        let request =
            Request::builder().method("POST").uri("/internal/end?unattended=true").body(Body::empty());
        let request = request.map_err(|error| ClientError::Answer(error.to_string()))?;
        let response = forward(request, Box::new(stream)).await;
        let response = response.map_err(|error| ClientError::Answer(error.message().to_owned()))?;
        Ok(Some(response.status().is_success()))
    }

    /// Sends bytes to be kept.
    pub async fn put(&self, path: &str, bytes: Vec<u8>) -> Result<(), ClientError> {
        let request = Request::builder().method("PUT").uri(path).body(Body::from(bytes));
        self.send(request.map_err(|error| ClientError::Answer(error.to_string()))?).await.map(drop)
    }

    /// The same, with the answer as it is.
    pub async fn bytes(
        &self,
        method: &str,
        path: &str,
        body: Option<serde_json::Value>,
    ) -> Result<Vec<u8>, ClientError> {
        let builder = Request::builder().method(method).uri(path);
        let request = match body {
            None => builder.body(Body::empty()),
            Some(body) => builder
                .header("content-type", "application/json")
                .body(Body::from(serde_json::to_vec(&body).unwrap_or_default())),
        };
        let request = request.map_err(|error| ClientError::Answer(error.to_string()))?;
        let response = self.send(request).await?;
        let body = response.into_body().collect().await;
        body.map(|body| body.to_bytes().to_vec()).map_err(|error| ClientError::Answer(error.to_string()))
    }
}

async fn problem(response: Response<Body>) -> ClientError {
    let status = response.status();
    let body =
        response.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    match serde_json::from_slice::<ErrorBody>(&body) {
        Ok(body) => ClientError::Refused(Box::new(body)),
        Err(_) => ClientError::Answer(format!("{status}: {}", String::from_utf8_lossy(&body))),
    }
}

/// A path as a part of an address.
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
