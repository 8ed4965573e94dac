//! Errors of the memory.

use thiserror::Error;

/// Failure to store or find a memory. A failing embedder is not an error: memories are then searched by words.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// The database failed.
    #[error("{0}")]
    Store(#[from] menace_store::StoreError),
    /// Prompt and response are empty.
    #[error("nothing to remember: prompt and response are empty")]
    Empty,
}
