//! Errors of the memory.

use menace_model::{ErrorClass, ErrorDetails};
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

impl ErrorDetails for MemoryError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Store(error) => error.class(),
            Self::Empty => ErrorClass::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Empty => None,
        }
    }
}
