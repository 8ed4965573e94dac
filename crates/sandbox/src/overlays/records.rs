//! JSON files with records about overlays, keyed by path.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::directory;
use crate::files::write_json;
use crate::resource_creator::ResourceCreator;

/// File with one record per overlay.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Serialize + DeserializeOwned")]
pub(super) struct OverlayRecordFile<T> {
    version: u32,
    pub(super) overlays: BTreeMap<PathBuf, T>,
}

/// Record of an overlay in use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ActiveOverlay {
    /// Process that uses the overlay.
    process: String,
}

/// Record of an overlay that could not be removed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FailedOverlayRemoval {
    attempts: u32,
    pub(super) problem: String,
}

impl<T: Serialize + DeserializeOwned> OverlayRecordFile<T> {
    /// Reads the file; a missing file is an empty one. An unreadable file is an error, because without it the overlays
    /// in use are unknown.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self { version: 1, overlays: BTreeMap::new() })
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        write_json(path, self, true)
    }
}

impl ActiveOverlay {
    pub(super) fn by(author: &ResourceCreator) -> Self {
        Self { process: author.text() }
    }

    /// Whether the process that uses the overlay may still be alive.
    pub(super) fn is_used(&self) -> bool {
        ResourceCreator::parse(&self.process).is_none_or(|author| !author.is_gone(&ResourceCreator::this()))
    }
}

impl OverlayRecordFile<FailedOverlayRemoval> {
    /// Tries to remove an overlay and records a failure.
    pub(super) fn try_remove(&mut self, path: &Path) -> bool {
        match directory::remove(path) {
            Ok(()) => {
                self.overlays.remove(path);
                true
            }
            Err(error) => {
                let before = self.overlays.get(path).map_or(0, |remains| remains.attempts);
                let remains = FailedOverlayRemoval { attempts: before + 1, problem: error.to_string() };
                self.overlays.insert(path.to_owned(), remains);
                false
            }
        }
    }
}
