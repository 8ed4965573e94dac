//! What can go wrong with remembering.

use thiserror::Error;

/// Why something could not be remembered or found. An embedder that fails is none of them: words are found without it.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// The database did not do it.
    #[error("{0}")]
    Store(#[from] menace_store::StoreError),
    /// There is nothing in it.
    #[error("there is nothing to remember: prompt and response are empty")]
    Empty,
}
