//! Atomic file writes: a file exists completely or not at all.

use std::io::{self, Write};
use std::path::Path;

/// Writes to a temporary file beside `path`, syncs it and renames it into place; creates missing directories.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, WriteDurability::SurvivesPowerLoss)
}

/// Like [`write_atomically`] without the sync, for files that carry a checksum and can be rebuilt.
pub(crate) fn write_atomically_without_sync(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, WriteDurability::SurvivesOurDeath)
}

#[derive(Clone, Copy)]
enum WriteDurability {
    SurvivesPowerLoss,
    SurvivesOurDeath,
}

fn write(path: &Path, bytes: &[u8], durability: WriteDurability) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    if matches!(durability, WriteDurability::SurvivesPowerLoss) {
        file.as_file().sync_all()?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
