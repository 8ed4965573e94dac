//! Memory: stored prompts, answers and lessons, tagged, searchable by meaning, and compacted over time.

mod embed;
mod error;
mod log;
#[cfg(test)]
mod memory_tests;
mod rank;
mod relevant;
mod retention;
mod tag;

pub use embed::{Embed, EmbedError};
pub use error::MemoryError;
pub use log::{Interaction, Logged, Memory};
pub use relevant::{Found, Looked, Relevant, Scope};
pub use retention::{Retention, RetentionError};
pub use tag::Tag;
