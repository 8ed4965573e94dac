//! One process for each loop: who goes on with a loop that still runs would decide everything twice.

use std::fs::{File, TryLockError};
use std::path::PathBuf;

use crate::error::FileContext;
use crate::{AppContext, AppError, RequestError};
use menace_model::ids::RunId;

/// What a loop has of its own.
pub(super) fn directory_of(context: &AppContext, id: &RunId) -> PathBuf {
    context.data_directory().join("auto").join(id.to_string())
}

/// Takes a loop for this process, until what is returned is dropped.
pub(super) fn lock_run(context: &AppContext, id: &RunId) -> Result<File, AppError> {
    let directory = directory_of(context, id);
    std::fs::create_dir_all(&directory).file("create", &directory)?;
    let path = directory.join("lock");
    let lock = File::create(&path).file("create", &path)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(RequestError::StillRunning(id.clone()).into()),
        Err(TryLockError::Error(error)) => Err(error).file("lock", &path),
    }
}
