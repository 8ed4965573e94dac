//! Removes overlays that nobody needs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::{OverlayError, Overlays, directory, failed};

/// Which of those go that nobody uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those that are too old, too many, or were to go before.
    Old,
    /// Those that are too many.
    TooMany,
    /// All.
    All,
}

/// What came of a purge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Purged {
    /// Overlays that are gone.
    pub removed: Vec<PathBuf>,
    /// Overlays that could not be removed, and why. They are tried again.
    pub failed: Vec<(PathBuf, String)>,
    /// Overlays that somebody uses.
    pub used: usize,
    /// Overlays that nobody uses and that stay for now.
    pub stray: usize,
}

impl Overlays {
    /// Removes those that nobody needs.
    pub fn purge(&self, which: Which) -> Result<Purged, OverlayError> {
        // Where nothing ever was, nothing is made.
        if !self.options.directory.is_dir() {
            return Ok(Purged::default());
        }
        let _lock = self.lock()?;
        self.purge_locked(which)
    }

    /// Looks how many there are, and removes none.
    pub fn look(&self) -> Result<Purged, OverlayError> {
        let found = self.found()?;
        let used = found.iter().filter(|one| one.is_used).count();
        Ok(Purged { used, stray: found.len() - used, ..Purged::default() })
    }

    pub(super) fn purge_locked(&self, which: Which) -> Result<Purged, OverlayError> {
        let found = self.found()?;
        let mut remains = self.remains()?;
        let mut too_many = match self.options.most {
            0 => 0,
            most => found.len().saturating_sub(most),
        };
        let mut done = Purged::default();
        // The oldest come first.
        for one in found {
            if one.is_used {
                done.used += 1;
                continue;
            }
            let is_over = too_many > 0;
            let is_old = one.age >= self.options.max_age || remains.overlays.contains_key(&one.path);
            let goes = match which {
                Which::Old => is_old || is_over,
                Which::TooMany => is_over,
                Which::All => true,
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
        // What is gone without us needs no further attempt.
        let is_there: BTreeSet<PathBuf> = done.failed.iter().map(|(path, _)| path.clone()).collect();
        let before = remains.overlays.len();
        remains.overlays.retain(|path, _| is_there.contains(path) || path.exists());
        if !done.failed.is_empty() || !done.removed.is_empty() || before != remains.overlays.len() {
            remains.write(&self.options.failed).map_err(failed(&self.options.failed))?;
        }
        self.forget_gone()?;
        Ok(done)
    }

    /// Takes those off the list of what is in use whose users are gone.
    fn forget_gone(&self) -> Result<(), OverlayError> {
        let mut active = self.active()?;
        let before = active.overlays.len();
        active.overlays.retain(|_, used| used.is_used());
        if before != active.overlays.len() {
            active.write(&self.options.active).map_err(failed(&self.options.active))?;
        }
        Ok(())
    }

    fn found(&self) -> Result<Vec<Found>, OverlayError> {
        let active = self.active()?;
        let all = directory::all(&self.options.directory).map_err(failed(&self.options.directory))?;
        let found = all.into_iter().map(|(path, age)| Found {
            is_used: active.overlays.get(&path).is_some_and(super::ledger::Active::is_used),
            path,
            age,
        });
        Ok(found.collect())
    }
}

struct Found {
    path: PathBuf,
    age: Duration,
    is_used: bool,
}
