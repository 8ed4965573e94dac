//! Embeddings: vectors for the meaning of texts.

use async_trait::async_trait;
use menace_model::{ErrorClass, ErrorDetails};
use thiserror::Error;

/// Failure to embed texts.
#[derive(Debug, Error)]
pub enum EmbeddingError {
    /// The request failed or was refused.
    #[error("embedder {embedder} failed: {problem}")]
    Asked {
        /// Name of the embedder.
        embedder: String,
        /// Error of the request.
        problem: String,
    },
    /// The answer is not usable.
    #[error("embedder {embedder} returned {problem}")]
    Answer {
        /// Name of the embedder.
        embedder: String,
        /// Description of the answer.
        problem: String,
    },
}

impl ErrorDetails for EmbeddingError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Asked { .. } | Self::Answer { .. } => ErrorClass::Environment,
        }
    }
}

/// An embedding model.
#[async_trait]
pub trait TextEmbedder: Send + Sync {
    /// Name of the embedder, including its model: only embeddings with the same name are compared.
    fn name(&self) -> &str;
    /// Embeds each text.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError>;
}

/// Embeds one text and checks that the vector is finite and not zero.
pub(super) async fn meaning(embedder: &dyn TextEmbedder, text: String) -> Result<Vec<f32>, EmbeddingError> {
    let mut all = embedder.embed(&[text]).await?;
    let wrong = |problem: String| EmbeddingError::Answer { embedder: embedder.name().to_owned(), problem };
    match (all.pop(), all.len()) {
        (Some(one), 0)
            if one.iter().any(|number| *number != 0.0) && one.iter().all(|number| number.is_finite()) =>
        {
            Ok(one)
        }
        (Some(_), 0) => Err(wrong("a zero or non-finite vector".into())),
        (last, rest) => Err(wrong(format!("{} vectors for one text", rest + usize::from(last.is_some())))),
    }
}
