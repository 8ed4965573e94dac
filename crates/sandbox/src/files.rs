//! Files of ours that several processes use: there as a whole or not at all, and locked.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::SandboxError;

/// Writes JSON, as a whole or not at all. With `lasting` it is also there after the power has failed.
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

/// How often it is looked whether a lock is free.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until nobody else holds a lock, and holds it until what is returned is dropped. The kernel could wake us, but then a
/// process that is to end would have to wait for whoever holds it.
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

/// The same, for whoever has nothing else to do meanwhile, such as a command that cleans up.
pub fn lock_now(path: &Path) -> io::Result<File> {
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
