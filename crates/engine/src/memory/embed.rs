//! What a text means, as numbers.

use async_trait::async_trait;
use thiserror::Error;

/// Why somebody could not say what texts mean.
#[derive(Debug, Error)]
pub enum EmbedError {
    /// It could not be asked, or refused.
    #[error("the embedder {embedder} did not answer: {problem}")]
    Asked {
        /// Who.
        embedder: String,
        /// Why not.
        problem: String,
    },
    /// What it said cannot be used.
    #[error("the embedder {embedder} gave {problem}")]
    Answer {
        /// Who.
        embedder: String,
        /// What was wrong with it.
        problem: String,
    },
}

/// Somebody who says what texts mean.
#[async_trait]
pub trait Embed: Send + Sync {
    /// What it is called. Only meanings with the same name are compared, so that the name of the model belongs in it.
    fn name(&self) -> &str;
    /// What each text means.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// What one text means, if the answer can be compared with others.
pub(super) async fn meaning(embedder: &dyn Embed, text: String) -> Result<Vec<f32>, EmbedError> {
    let mut all = embedder.embed(&[text]).await?;
    let wrong = |problem: String| EmbedError::Answer { embedder: embedder.name().to_owned(), problem };
    match (all.pop(), all.len()) {
        (Some(one), 0)
            if one.iter().any(|number| *number != 0.0) && one.iter().all(|number| number.is_finite()) =>
        {
            Ok(one)
        }
        (Some(_), 0) => Err(wrong("numbers that mean nothing".into())),
        (last, rest) => Err(wrong(format!("{} answers to one text", rest + usize::from(last.is_some())))),
    }
}
