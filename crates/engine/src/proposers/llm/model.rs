//! What a model is asked and what it answers.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Rules.
    System,
    /// Questions.
    User,
    /// Answers.
    Assistant,
}

/// Something that is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// By whom.
    pub role: Role,
    /// The text.
    pub content: String,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// What was said so far.
    pub messages: Vec<Message>,
    /// The longest answer.
    pub max_tokens: u64,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// Tokens of the question.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Whether the endpoint counted them. Otherwise they were counted here, with another model's vocabulary.
    pub is_counted_there: bool,
    /// Whether it was longer than it may be, so that its end is missing.
    #[serde(default)]
    pub is_cut: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum ModelError {
    /// It is of no use to ask again.
    #[error("the model's endpoint answered {status}: {message}")]
    Refused {
        /// What HTTP says.
        status: u16,
        /// What the endpoint says.
        message: String,
    },
    /// All of the time went by.
    #[error("no answer within {} s{}", .within.as_secs(), after(.last.as_ref()))]
    Late {
        /// All of the time.
        within: Duration,
        /// What went wrong before.
        last: Option<String>,
    },
    /// More than can be an answer.
    #[error("the answer has more than {most} bytes")]
    TooLong {
        /// The most.
        most: usize,
    },
    /// What came is no answer.
    #[error("what the endpoint sent is no answer: {problem}")]
    Garbled {
        /// What is wrong with it.
        problem: String,
    },
    /// Answers come from a file, and it has none for this question.
    #[error("this question is not in the recording")]
    NotRecorded,
    /// The recording cannot be written.
    #[error("failed to record an answer: {problem}")]
    Recording {
        /// Why.
        problem: String,
    },
}

fn after(last: Option<&String>) -> String {
    last.map_or(String::new(), |last| format!(", after: {last}"))
}

impl ModelError {
    /// Whether any other question would end the same way, so that there is no use in asking one.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Refused { status: 401..=404, .. } | Self::Recording { .. })
    }
}

/// Somebody who answers.
#[async_trait]
pub trait Model: Send + Sync {
    /// What it is called.
    fn name(&self) -> &str;
    /// Asks it.
    async fn ask(&self, request: &Request) -> Result<Reply, ModelError>;
}
