//! Counts of failed container creations per image: `pool_failures.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::files::write_json;

/// Failure counts by image, stored in a file so that they survive a restart.
pub(super) struct CreationFailures {
    path: Option<PathBuf>,
    written: Mutex<CreationFailureFile>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct CreationFailureFile {
    version: u32,
    images: BTreeMap<String, ImageFailureCount>,
}

/// Failure counts of one image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ImageFailureCount {
    /// Total number of failures.
    pub(super) failures: u64,
    /// Number of consecutive failures.
    pub(super) consecutive: u64,
}

impl CreationFailures {
    /// Reads the stored counts. An invalid file is reset with a warning.
    pub(super) fn read(path: Option<PathBuf>) -> Self {
        let empty = || CreationFailureFile { version: 1, ..CreationFailureFile::default() };
        let written = match path.as_ref().map(std::fs::read) {
            None => empty(),
            Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => empty(),
            Some(read) => {
                read.and_then(|bytes| Ok(serde_json::from_slice(&bytes)?)).unwrap_or_else(|error| {
                    tracing::warn!("resetting the counts of failed containers: {error}");
                    empty()
                })
            }
        };
        Self { path, written: Mutex::new(written) }
    }

    /// Counts a failure.
    pub(super) fn failed(&self, image: &str) -> ImageFailureCount {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let count = written.images.entry(image.to_owned()).or_default();
        count.failures += 1;
        count.consecutive += 1;
        let count = *count;
        self.write(&written);
        count
    }

    /// Counts a success. Writes the file only if a count changes.
    pub(super) fn succeeded(&self, image: &str) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = written.images.get_mut(image).filter(|count| count.consecutive > 0) {
            count.consecutive = 0;
            self.write(&written);
        }
    }

    fn write(&self, written: &CreationFailureFile) {
        let Some(path) = &self.path else { return };
        if let Err(error) = write_json(path, written, true) {
            tracing::warn!("failed to write {}: {error}", path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_survive_a_restart_and_a_success_resets_the_consecutive_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data/pool_failures.json");
        let attempts = CreationFailures::read(Some(path.clone()));
        attempts.failed("a");
        attempts.failed("b");
        assert_eq!(attempts.failed("a"), ImageFailureCount { failures: 2, consecutive: 2 });
        attempts.succeeded("a");
        let reread = CreationFailures::read(Some(path.clone()));
        assert_eq!(reread.failed("a"), ImageFailureCount { failures: 3, consecutive: 1 });
        std::fs::write(&path, "{").unwrap();
        assert_eq!(
            CreationFailures::read(Some(path)).failed("a"),
            ImageFailureCount { failures: 1, consecutive: 1 }
        );
    }
}
