//! Proposer backed by a language model at any `OpenAI`-compatible endpoint.

mod brainstorm;
mod client;
#[cfg(test)]
mod client_tests;
mod count;
pub mod edits;
mod embed;
mod model;
mod prompt;
mod proposer;
mod record;
mod stream;
mod template;

pub use brainstorm::ideas;
pub(crate) use client::client as http_client;
pub use client::{Endpoint, HttpModel};

pub use embed::HttpEmbedder;
pub use model::{Message, Model, ModelError, Reply, Request, Role};
pub use prompt::{Standing, Wording};
pub use proposer::{Llm, Pricing};
pub use record::{Recorded, Recording};
pub use template::{Template, TemplateError};
