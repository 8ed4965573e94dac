//! Proposer backed by a language model at any `OpenAI`-compatible endpoint.

mod brainstorm;
mod client;
#[cfg(test)]
mod client_tests;
pub mod edits;
mod embedder;
mod model;
mod prompt;
mod proposer;
mod recording;
mod stream;
mod template;
mod token_count;

pub use brainstorm::ideas;
pub(crate) use client::client as http_client;
pub use client::{HttpModel, ModelEndpoint};

pub use embedder::HttpEmbedder;
pub use model::{ChatMessage, ChatRole, LanguageModel, ModelError, ModelReply, ModelRequest};
pub use prompt::{ModuleMetricHistory, PromptSettings};
pub use proposer::{LlmProposer, ModelPricing};
pub use recording::{ModelRecording, RecordedModel};
pub use template::{PromptTemplateError, PromptTemplates};
