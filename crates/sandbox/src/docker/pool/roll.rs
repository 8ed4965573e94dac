//! Which containers there are: `active_containers.json`.
//!
//! Labels say the same to whoever asks the engine. The file says it to people, and to the next process of a machine that has no
//! id, where nobody can tell from a label whether its maker is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::files::write_json;

/// All containers of this process.
#[derive(Debug)]
pub(super) struct Roll {
    path: Option<PathBuf>,
    there: Mutex<Written>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    version: u32,
    /// The container of each sandbox; nothing while it is made.
    containers: BTreeMap<String, Option<String>>,
}

/// A container that is known, until this is dropped.
#[derive(Debug)]
pub(in super::super) struct Known {
    roll: Arc<Roll>,
    id: String,
}

impl Roll {
    /// None yet.
    pub(super) fn new(path: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self { path, there: Mutex::new(Written { version: 1, ..Written::default() }) })
    }

    /// A sandbox is being made, or taken over with the container that it has.
    pub(super) fn enter(self: &Arc<Self>, id: &str, container: Option<&str>) -> Known {
        self.change(|there| there.insert(id.to_owned(), container.map(str::to_owned)));
        Known { roll: Arc::clone(self), id: id.to_owned() }
    }

    /// All sandboxes.
    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner).containers.keys().cloned().collect()
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Option<String>>) -> T) {
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut there.containers);
        // Every sandbox waits for this, so it does not wait for the disk: after a loss of power nothing of it runs anyway.
        if let Some(path) = &self.path
            && let Err(error) = write_json(path, &*there, false)
        {
            tracing::warn!("failed to write {}: {error}", path.display());
        }
    }
}

impl Known {
    /// It is this container.
    pub(super) fn is_container(&self, container: &str) {
        self.roll.change(|there| there.insert(self.id.clone(), Some(container.to_owned())));
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        self.roll.change(|there| there.remove(&self.id));
    }
}

/// The sandboxes that an earlier process of this data directory has written down.
pub(super) fn written_before(path: &Path) -> BTreeSet<String> {
    match std::fs::read(path).and_then(|bytes| Ok(serde_json::from_slice::<Written>(&bytes)?)) {
        Ok(written) => written.containers.into_keys().collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeSet::new(),
        Err(error) => {
            // What is on it is still found by its labels.
            tracing::warn!("{} cannot be understood: {error}", path.display());
            BTreeSet::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_written_down_until_it_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("active_containers.json");
        assert_eq!(written_before(&path), BTreeSet::new());
        let roll = Roll::new(Some(path.clone()));
        let first = roll.enter("sb-1", None);
        let second = roll.enter("sb-2", Some("c2"));
        first.is_container("c1");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"sb-1\": \"c1\"") && text.contains("\"version\": 1"), "{text}");
        drop(first);
        assert_eq!(written_before(&path), BTreeSet::from(["sb-2".to_owned()]));
        drop(second);
        assert_eq!((written_before(&path), roll.ids()), (BTreeSet::new(), BTreeSet::new()));
    }
}
