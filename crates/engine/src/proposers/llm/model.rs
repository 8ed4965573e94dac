//! Requests to language models and their answers.

use std::time::Duration;

use async_trait::async_trait;
use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// Instructions.
    System,
    /// The request.
    User,
    /// The model.
    Assistant,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Author.
    pub role: ChatRole,
    /// The text.
    pub content: String,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// Conversation so far.
    pub messages: Vec<ChatMessage>,
    /// Maximum length of the answer.
    pub max_tokens: u64,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The text.
    pub text: String,
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Whether the endpoint counted the tokens. Otherwise they are an estimate with the vocabulary of another model.
    pub is_counted_there: bool,
    /// Whether the answer was cut off at `max_tokens`.
    #[serde(default)]
    pub is_cut: bool,
}

/// Failure of a request to a model.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum ModelError {
    /// The endpoint refused the request; a retry would fail too.
    #[error("the model's endpoint answered {status}: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Message of the endpoint.
        message: String,
    },
    /// The time limit was reached.
    #[error("no answer within {} s{}", .within.as_secs(), after(.last.as_ref()))]
    Late {
        /// Time limit.
        within: Duration,
        /// Error of the last attempt.
        last: Option<String>,
    },
    /// The response exceeds the size limit.
    #[error("the answer has more than {most} bytes")]
    TooLong {
        /// Size limit in bytes.
        most: usize,
    },
    /// The response is malformed.
    #[error("malformed response of the endpoint: {problem}")]
    Garbled {
        /// Description of the defect.
        problem: String,
    },
    /// The recording that is replayed has no answer to this request.
    #[error("no recorded answer to this request")]
    NotRecorded,
    /// The recording could not be read or written.
    #[error("failed to read or write the recording of answers: {problem}")]
    Recording {
        /// Path and error.
        problem: String,
    },
}

fn after(last: Option<&String>) -> String {
    last.map_or(String::new(), |last| format!(", after: {last}"))
}

impl ErrorDetails for ModelError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Refused { .. }
            | Self::Late { .. }
            | Self::TooLong { .. }
            | Self::Garbled { .. }
            | Self::NotRecorded
            | Self::Recording { .. } => ErrorClass::Environment,
        }
    }
}

impl ModelError {
    /// Whether every other request would fail in the same way.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Refused { status: 401..=404, .. } | Self::Recording { .. })
    }
}

/// A language model.
#[async_trait]
pub trait LanguageModel: Send + Sync {
    /// Name of the model.
    fn name(&self) -> &str;
    /// Sends a request and returns the answer.
    async fn ask(&self, request: &ModelRequest) -> Result<ModelReply, ModelError>;
}
