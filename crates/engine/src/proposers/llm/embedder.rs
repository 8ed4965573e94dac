//! Embeddings of texts from an `OpenAI`-compatible endpoint.

use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::client::{ModelEndpoint, client, describe_error};
use super::model::ModelError;
use super::stream::error_message;
use crate::memory::{EmbeddingError, TextEmbedder};

/// An embedding model reached over HTTP.
#[derive(Debug)]
pub struct HttpEmbedder {
    endpoint: ModelEndpoint,
    client: reqwest::Client,
}

#[derive(Deserialize)]
struct EmbeddingResponse {
    data: Vec<EmbeddingVector>,
}

#[derive(Deserialize)]
struct EmbeddingVector {
    index: usize,
    embedding: Vec<f32>,
}

/// Maximum bytes of a response.
const MOST: usize = 16 << 20;
const WITHIN: Duration = Duration::from_secs(30);

impl HttpEmbedder {
    /// Creates the client of an endpoint.
    pub fn new(endpoint: ModelEndpoint) -> Result<Self, ModelError> {
        Ok(Self { endpoint, client: client()? })
    }

    async fn vectors(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
        let address = format!("{}/embeddings", self.endpoint.base_url.trim_end_matches('/'));
        let body = json!({"model": self.endpoint.model, "input": texts});
        let mut request = self.client.post(address).json(&body);
        if let Some(key) = &self.endpoint.key {
            request = request.bearer_auth(key.expose());
        }
        let mut response = request.send().await.map_err(|error| describe_error(&error))?;
        let status = response.status();
        let mut content = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| describe_error(&error))? {
            content.extend_from_slice(&bytes);
            if content.len() > MOST {
                return Err(format!("the answer has more than {MOST} bytes"));
            }
        }
        if !status.is_success() {
            let value: serde_json::Value = serde_json::from_slice(&content).unwrap_or_default();
            return Err(format!("{status}: {}", error_message(&value)));
        }
        let mut found: EmbeddingResponse =
            serde_json::from_slice(&content).map_err(|error| error.to_string())?;
        found.data.sort_by_key(|vector| vector.index);
        if found.data.len() != texts.len() {
            return Err(format!("{} vectors for {} texts", found.data.len(), texts.len()));
        }
        Ok(found.data.into_iter().map(|vector| vector.embedding).collect())
    }
}

#[async_trait]
impl TextEmbedder for HttpEmbedder {
    fn name(&self) -> &str {
        &self.endpoint.model
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let asked =
            |problem: String| EmbeddingError::Asked { embedder: self.endpoint.model.clone(), problem };
        match tokio::time::timeout(WITHIN, self.vectors(texts)).await {
            Ok(found) => found.map_err(asked),
            Err(_) => Err(asked(format!("timed out after {} s", WITHIN.as_secs()))),
        }
    }
}
