//! Removal of stale overlays.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::{OverlayError, OverlayRegistry, directory, failed};

/// Scope of a purge among the unused overlays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayPurgeScope {
    /// Overlays that are too old, exceed the limit, or failed to be removed before.
    Old,
    /// Overlays that exceed the limit.
    TooMany,
    /// All unused overlays.
    All,
}

/// Result of a purge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OverlayPurgeReport {
    /// Removed overlays.
    pub removed: Vec<PathBuf>,
    /// Overlays that could not be removed, with the reason. The next purge tries again.
    pub failed: Vec<(PathBuf, String)>,
    /// Number of overlays in use.
    pub used: usize,
    /// Number of unused overlays that stay for now.
    pub stray: usize,
}

impl OverlayRegistry {
    /// Removes unused overlays within a scope.
    pub fn purge(&self, which: OverlayPurgeScope) -> Result<OverlayPurgeReport, OverlayError> {
        // Without an overlay directory there is nothing to lock, and no lock file is created.
        if !self.options.directory.is_dir() {
            return Ok(OverlayPurgeReport::default());
        }
        let _lock = self.lock()?;
        self.purge_locked(which)
    }

    /// Counts overlays without removing any.
    pub fn count(&self) -> Result<OverlayPurgeReport, OverlayError> {
        let found = self.found()?;
        let used = found.iter().filter(|one| one.is_used).count();
        Ok(OverlayPurgeReport { used, stray: found.len() - used, ..OverlayPurgeReport::default() })
    }

    pub(super) fn purge_locked(&self, which: OverlayPurgeScope) -> Result<OverlayPurgeReport, OverlayError> {
        let found = self.found()?;
        let mut remains = self.remains()?;
        let mut too_many = match self.options.most {
            0 => 0,
            most => found.len().saturating_sub(most),
        };
        let mut done = OverlayPurgeReport::default();
        // The oldest come first.
        for one in found {
            if one.is_used {
                done.used += 1;
                continue;
            }
            let is_over = too_many > 0;
            let is_old = one.age >= self.options.max_age || remains.overlays.contains_key(&one.path);
            let goes = match which {
                OverlayPurgeScope::Old => is_old || is_over,
                OverlayPurgeScope::TooMany => is_over,
                OverlayPurgeScope::All => true,
            };
            if !goes {
                done.stray += 1;
            } else if remains.try_remove(&one.path) {
                too_many = too_many.saturating_sub(1);
                done.removed.push(one.path);
            } else {
                let problem = remains.overlays.get(&one.path).map(|remains| remains.problem.clone());
                done.failed.push((one.path, problem.unwrap_or_default()));
            }
        }
        // An overlay that another process removed needs no further attempt.
        let is_there: BTreeSet<PathBuf> = done.failed.iter().map(|(path, _)| path.clone()).collect();
        let before = remains.overlays.len();
        remains.overlays.retain(|path, _| is_there.contains(path) || path.exists());
        if !done.failed.is_empty() || !done.removed.is_empty() || before != remains.overlays.len() {
            remains.write(&self.options.failed).map_err(failed(&self.options.failed))?;
        }
        self.forget_gone()?;
        Ok(done)
    }

    /// Drops the entries of ended processes from the list of overlays in use.
    fn forget_gone(&self) -> Result<(), OverlayError> {
        let mut active = self.active()?;
        let before = active.overlays.len();
        active.overlays.retain(|_, used| used.is_used());
        if before != active.overlays.len() {
            active.write(&self.options.active).map_err(failed(&self.options.active))?;
        }
        Ok(())
    }

    fn found(&self) -> Result<Vec<ExistingOverlay>, OverlayError> {
        let active = self.active()?;
        let all = directory::all(&self.options.directory).map_err(failed(&self.options.directory))?;
        let found = all.into_iter().map(|(path, age)| ExistingOverlay {
            is_used: active.overlays.get(&path).is_some_and(super::records::ActiveOverlay::is_used),
            path,
            age,
        });
        Ok(found.collect())
    }
}

struct ExistingOverlay {
    path: PathBuf,
    age: Duration,
    is_used: bool,
}
