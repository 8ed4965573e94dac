//! One process for each loop: who goes on with a loop that still runs would decide everything twice.

use std::fs::{File, TryLockError};
use std::path::PathBuf;

use anyhow::Context;
use menace_model::ids::RunId;

use crate::commands::usage::UsageError;
use crate::configuration::Configuration;

/// What a loop has of its own.
pub(super) fn directory_of(configuration: &Configuration, id: &RunId) -> PathBuf {
    configuration.data_directory().join("auto").join(id.to_string())
}

/// Takes a loop for this process, until what is returned is dropped.
pub(super) fn lock_run(configuration: &Configuration, id: &RunId) -> anyhow::Result<File> {
    let directory = directory_of(configuration, id);
    std::fs::create_dir_all(&directory).with_context(|| format!("failed to make {}", directory.display()))?;
    let path = directory.join("lock");
    let lock = File::create(&path).with_context(|| format!("failed to make {}", path.display()))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(UsageError::StillRuns(id.clone()).into()),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("failed to lock {}", path.display()))
        }
    }
}
