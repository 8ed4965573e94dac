//! Overlay directories of virtual machines: registers those in use and purges stale ones.
//!
//! A virtual machine that is killed leaves its directory behind, often with gigabytes in it. Only directories that
//! carry menace's marker are ever touched, and only direct children of the overlay directory.

mod directory;
mod purge;
mod records;
#[cfg(test)]
mod tests;

pub use purge::{OverlayPurgeReport, OverlayPurgeScope};

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::{ErrorClass, ErrorDetails};
use thiserror::Error;

use crate::files::lock_blocking;
use crate::resource_creator::ResourceCreator;
use records::{ActiveOverlay, FailedOverlayRemoval, OverlayRecordFile};

/// Locations and retention of overlays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayOptions {
    /// Directory in which overlays are created.
    pub directory: PathBuf,
    /// File that lists the overlays in use.
    pub active: PathBuf,
    /// File that lists the overlays that could not be removed.
    pub failed: PathBuf,
    /// Age at which an unused overlay is purged.
    pub max_age: Duration,
    /// Highest number of overlays; 0 means no limit.
    pub most: usize,
}

/// Failure of an overlay operation.
#[derive(Debug, Error)]
pub enum OverlayError {
    /// A file or directory could not be used.
    #[error("failed to use {path}: {source}", path = path.display())]
    Path {
        /// Path of the file or directory.
        path: PathBuf,
        /// Underlying error.
        #[source]
        source: io::Error,
    },
    /// The path is not an overlay that menace created.
    #[error("{path} is not an overlay created by menace", path = path.display())]
    NotOurs {
        /// Rejected path.
        path: PathBuf,
    },
    /// The limit is reached and every overlay is in use.
    #[error("overlay limit reached: {most} are in use")]
    Full {
        /// Highest allowed number.
        most: usize,
    },
}

impl ErrorDetails for OverlayError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Path { .. } => ErrorClass::Environment,
            Self::NotOurs { .. } => ErrorClass::Usage,
            Self::Full { .. } => ErrorClass::LimitExceeded,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Path { .. } => None,
            Self::NotOurs { .. } => Some("overlays contain the marker file .menace-overlay".into()),
            Self::Full { .. } => {
                Some("stop some virtual machines, or raise SANDBOX_MAX_OVERLAY_COUNT".into())
            }
        }
    }
}

/// Overlays of one data directory.
#[derive(Debug, Clone)]
pub struct OverlayRegistry {
    options: OverlayOptions,
}

impl OverlayRegistry {
    /// Describes the overlays of a directory; creates nothing on disk.
    pub fn new(options: OverlayOptions) -> Self {
        Self { options }
    }

    /// Creates an overlay for a virtual machine and registers it as in use. If the limit is exceeded, the oldest unused
    /// overlays are removed.
    pub fn make(&self, name: &str) -> Result<PathBuf, OverlayError> {
        let _lock = self.lock()?;
        let mut active = self.active()?;
        let used = active.overlays.values().filter(|used| used.is_used()).count();
        if self.options.most > 0 && used >= self.options.most {
            return Err(OverlayError::Full { most: self.options.most });
        }
        let path = self.options.directory.join(name);
        directory::make(&path).map_err(failed(&path))?;
        active.overlays.insert(path.clone(), ActiveOverlay::by(&ResourceCreator::this()));
        active.write(&self.options.active).map_err(failed(&self.options.active))?;
        if self.options.most > 0 {
            self.purge_locked(OverlayPurgeScope::TooMany)?;
        }
        Ok(path)
    }

    /// Registers an existing overlay as in use by this process.
    pub fn register(&self, path: &Path) -> Result<(), OverlayError> {
        let _lock = self.lock()?;
        if !directory::is_ours(path, &self.options.directory) {
            return Err(OverlayError::NotOurs { path: path.to_owned() });
        }
        let mut active = self.active()?;
        active.overlays.insert(path.to_owned(), ActiveOverlay::by(&ResourceCreator::this()));
        active.write(&self.options.active).map_err(failed(&self.options.active))
    }

    /// Marks an overlay as unused. Its files stay until they are purged.
    pub fn unregister(&self, path: &Path) -> Result<(), OverlayError> {
        let _lock = self.lock()?;
        let mut active = self.active()?;
        if active.overlays.remove(path).is_none() {
            return Ok(());
        }
        active.write(&self.options.active).map_err(failed(&self.options.active))
    }

    /// Unregisters and removes an overlay immediately. If that fails, the next purge tries again.
    pub fn remove(&self, path: &Path) -> Result<bool, OverlayError> {
        self.unregister(path)?;
        let _lock = self.lock()?;
        if !directory::is_ours(path, &self.options.directory) {
            return Err(OverlayError::NotOurs { path: path.to_owned() });
        }
        let mut remains = self.remains()?;
        let is_removed = remains.try_remove(path);
        remains.write(&self.options.failed).map_err(failed(&self.options.failed))?;
        Ok(is_removed)
    }

    fn lock(&self) -> Result<std::fs::File, OverlayError> {
        let path = self.options.active.with_extension("lock");
        lock_blocking(&path).map_err(failed(&path))
    }

    fn active(&self) -> Result<OverlayRecordFile<ActiveOverlay>, OverlayError> {
        OverlayRecordFile::read(&self.options.active).map_err(failed(&self.options.active))
    }

    fn remains(&self) -> Result<OverlayRecordFile<FailedOverlayRemoval>, OverlayError> {
        OverlayRecordFile::read(&self.options.failed).map_err(failed(&self.options.failed))
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> OverlayError {
    let path = path.to_owned();
    move |source| OverlayError::Path { path, source }
}
