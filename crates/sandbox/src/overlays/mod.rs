//! Directories in which virtual machines write: which are in use, and the end of those that nobody needs.
//!
//! A machine that is killed leaves its directory, and often gigabytes in it. Only directories that carry our marker are ever
//! touched, and only those in the one directory that overlays are made in.

mod directory;
mod ledger;
mod purge;
#[cfg(test)]
mod tests;

pub use purge::{Purged, Which};

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use crate::author::Author;
use crate::files::lock_now;
use ledger::{Active, Ledger, Remains};

/// Where overlays are, and how long they stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayOptions {
    /// Where they are made.
    pub directory: PathBuf,
    /// Where those in use are written down.
    pub active: PathBuf,
    /// Where those are written down that could not be removed.
    pub failed: PathBuf,
    /// How old one becomes that nobody uses.
    pub max_age: Duration,
    /// The most at one time; 0 is any number.
    pub most: usize,
}

/// Why an overlay cannot be had.
#[derive(Debug, Error)]
pub enum OverlayError {
    /// A file or directory could not be used.
    #[error("failed to use {path}: {source}", path = path.display())]
    Path {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is not one of ours.
    #[error("{path} is no overlay of menace\nhint: overlays are made by menace, and carry a marker", path = path.display())]
    NotOurs {
        /// Which.
        path: PathBuf,
    },
    /// All are in use.
    #[error(
        "{most} overlays are in use, and that is the most\nhint: end some virtual machines, or set SANDBOX_MAX_OVERLAY_COUNT higher"
    )]
    Full {
        /// How many.
        most: usize,
    },
}

/// The overlays of one data directory.
#[derive(Debug, Clone)]
pub struct Overlays {
    options: OverlayOptions,
}

impl Overlays {
    /// Those in a directory. Nothing is made before it is needed.
    pub fn new(options: OverlayOptions) -> Self {
        Self { options }
    }

    /// Makes a directory for a virtual machine, which is in use from then on. If there are too many, the oldest go that nobody
    /// uses.
    pub fn make(&self, name: &str) -> Result<PathBuf, OverlayError> {
        let _lock = self.lock()?;
        let mut active = self.active()?;
        let used = active.overlays.values().filter(|used| used.is_used()).count();
        if self.options.most > 0 && used >= self.options.most {
            return Err(OverlayError::Full { most: self.options.most });
        }
        let path = self.options.directory.join(name);
        directory::make(&path).map_err(failed(&path))?;
        active.overlays.insert(path.clone(), Active::by(&Author::this()));
        active.write(&self.options.active).map_err(failed(&self.options.active))?;
        if self.options.most > 0 {
            self.purge_locked(Which::TooMany)?;
        }
        Ok(path)
    }

    /// Says that one which is there is in use, by this process.
    pub fn register(&self, path: &Path) -> Result<(), OverlayError> {
        let _lock = self.lock()?;
        if !directory::is_ours(path, &self.options.directory) {
            return Err(OverlayError::NotOurs { path: path.to_owned() });
        }
        let mut active = self.active()?;
        active.overlays.insert(path.to_owned(), Active::by(&Author::this()));
        active.write(&self.options.active).map_err(failed(&self.options.active))
    }

    /// Says that one is not in use any more. Its files stay until they are purged.
    pub fn unregister(&self, path: &Path) -> Result<(), OverlayError> {
        let _lock = self.lock()?;
        let mut active = self.active()?;
        if active.overlays.remove(path).is_none() {
            return Ok(());
        }
        active.write(&self.options.active).map_err(failed(&self.options.active))
    }

    /// Removes one that is not in use any more, at once. If that cannot be done, it is tried again by the next purge.
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
        lock_now(&path).map_err(failed(&path))
    }

    fn active(&self) -> Result<Ledger<Active>, OverlayError> {
        Ledger::read(&self.options.active).map_err(failed(&self.options.active))
    }

    fn remains(&self) -> Result<Ledger<Remains>, OverlayError> {
        Ledger::read(&self.options.failed).map_err(failed(&self.options.failed))
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> OverlayError {
    let path = path.to_owned();
    move |source| OverlayError::Path { path, source }
}
