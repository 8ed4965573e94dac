//! Memory: stored prompts, answers and lessons, tagged, searchable by meaning, and compacted over time.

mod embedder;
mod error;
mod log;
#[cfg(test)]
mod memory_tests;
mod rank;
mod retention;
mod search;
mod tag;

pub use embedder::{EmbeddingError, TextEmbedder};
pub use error::MemoryError;
pub use log::{LoggedMemory, Memory, PromptInteraction};
pub use retention::{MemoryRetention, MemoryRetentionError};
pub use search::{MemoryScope, MemorySearchMethod, RelevantMemories, ScoredMemory};
pub use tag::MemoryTag;
