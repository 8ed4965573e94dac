//! Reading of one file, with a size limit.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use thiserror::Error;

/// The syntax tree of a file takes about fifty times its bytes; files above this limit are data, not modules.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Failure to read a file.
#[derive(Debug, Error)]
pub(crate) enum SourceReadError {
    #[error("failed to read: {0}")]
    Io(#[from] std::io::Error),
    #[error("larger than {} MiB, not read", MAX_BYTES / 1024 / 1024)]
    TooLarge,
}

pub(crate) fn read(path: &Path, expected_size: u64) -> Result<Vec<u8>, SourceReadError> {
    if expected_size > MAX_BYTES {
        return Err(SourceReadError::TooLarge);
    }
    let capacity = usize::try_from(expected_size).unwrap_or(0) + 1;
    let mut bytes = Vec::with_capacity(capacity);
    // A file can grow between the walk and the read, so the limit is enforced here too.
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(SourceReadError::TooLarge);
    }
    Ok(bytes)
}
