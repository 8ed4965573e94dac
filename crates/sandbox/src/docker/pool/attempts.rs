//! How often containers of an image could not be made: `pool_failures.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::files::write_json;

/// What became of attempts, by image, written down so that it is known after a restart.
pub(super) struct Attempts {
    path: Option<PathBuf>,
    written: Mutex<Written>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Written {
    version: u32,
    images: BTreeMap<String, Count>,
}

/// What became of attempts with one image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Count {
    /// How often it failed.
    pub(super) failures: u64,
    /// How often in a row.
    pub(super) consecutive: u64,
}

impl Attempts {
    /// What was written down before. A file that means nothing is begun anew, and said so.
    pub(super) fn read(path: Option<PathBuf>) -> Self {
        let empty = || Written { version: 1, ..Written::default() };
        let written = match path.as_ref().map(std::fs::read) {
            None => empty(),
            Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => empty(),
            Some(read) => {
                read.and_then(|bytes| Ok(serde_json::from_slice(&bytes)?)).unwrap_or_else(|error| {
                    tracing::warn!("what is known of failed containers is begun anew: {error}");
                    empty()
                })
            }
        };
        Self { path, written: Mutex::new(written) }
    }

    /// One failed.
    pub(super) fn failed(&self, image: &str) -> Count {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let count = written.images.entry(image.to_owned()).or_default();
        count.failures += 1;
        count.consecutive += 1;
        let count = *count;
        self.write(&written);
        count
    }

    /// One did not fail. That is written only where it changes something.
    pub(super) fn succeeded(&self, image: &str) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = written.images.get_mut(image).filter(|count| count.consecutive > 0) {
            count.consecutive = 0;
            self.write(&written);
        }
    }

    fn write(&self, written: &Written) {
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
    fn failures_are_known_after_a_restart_and_a_success_ends_a_row() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data/pool_failures.json");
        let attempts = Attempts::read(Some(path.clone()));
        attempts.failed("a");
        attempts.failed("b");
        assert_eq!(attempts.failed("a"), Count { failures: 2, consecutive: 2 });
        attempts.succeeded("a");
        let again = Attempts::read(Some(path.clone()));
        assert_eq!(again.failed("a"), Count { failures: 3, consecutive: 1 });
        std::fs::write(&path, "{").unwrap();
        assert_eq!(Attempts::read(Some(path)).failed("a"), Count { failures: 1, consecutive: 1 });
    }
}
