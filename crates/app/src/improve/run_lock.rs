//! Lock of a run: two processes that execute the same run would make every decision twice.

use std::fs::{File, TryLockError};
use std::path::PathBuf;

use crate::error::FileContext;
use crate::{AppContext, AppError, RequestError};
use menace_model::ids::RunId;

/// Directory of a run.
pub(super) fn directory_of(context: &AppContext, id: &RunId) -> PathBuf {
    context.data_directory().join("auto").join(id.to_string())
}

/// Locks a run for this process, until the returned file is dropped.
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
