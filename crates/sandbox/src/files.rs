//! Atomic writes and locks for files that several menace processes share.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::SandboxError;

/// Writes JSON atomically. With `lasting` the file is synced and survives a power failure.
pub(crate) fn write_json(path: &Path, value: &impl Serialize, lasting: bool) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut file = tempfile::Builder::new().prefix(".menace-").suffix(".new").tempfile_in(directory)?;
    file.write_all(&serde_json::to_vec_pretty(value)?)?;
    if lasting {
        file.as_file().sync_all()?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Interval between two attempts to take a lock.
const LOOK: Duration = Duration::from_millis(20);

/// Takes a lock, waiting until it is free; dropping the file releases it. Polls instead of blocking in the kernel, so
/// that a process that is asked to exit does not have to wait for the holder of the lock.
pub(crate) async fn lock(path: Option<&Path>) -> Result<Option<File>, SandboxError> {
    let Some(path) = path else { return Ok(None) };
    let file = open(path).map_err(SandboxError::io("open the lock of the pool"))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
            Err(TryLockError::Error(error)) => return Err(SandboxError::io("lock the pool")(error)),
        }
    }
}

/// Takes a lock and blocks the thread meanwhile, for commands with no other work, such as clean-up.
pub fn lock_blocking(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    file.lock()?;
    Ok(file)
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}
