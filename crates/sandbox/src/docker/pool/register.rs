//! Register of existing containers: `active_containers.json`.
//!
//! The engine's labels hold the same information. The file serves people, and the next process on a machine without a
//! machine id, where a label cannot tell whether the process that created a container is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::files::write_json;

/// Register of all containers of this process.
#[derive(Debug)]
pub(super) struct ContainerRegister {
    path: Option<PathBuf>,
    there: Mutex<ContainerRegisterFile>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ContainerRegisterFile {
    version: u32,
    /// Container of each sandbox; `None` while it is being created.
    containers: BTreeMap<String, Option<String>>,
}

/// Entry of a container in the register until this is dropped.
#[derive(Debug)]
pub(in super::super) struct ContainerRegistration {
    roll: Arc<ContainerRegister>,
    id: String,
}

impl ContainerRegister {
    /// Creates an empty register.
    pub(super) fn new(path: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            path,
            there: Mutex::new(ContainerRegisterFile { version: 1, ..ContainerRegisterFile::default() }),
        })
    }

    /// Adds a sandbox that is being created, or adopted with its existing container.
    pub(super) fn register(self: &Arc<Self>, id: &str, container: Option<&str>) -> ContainerRegistration {
        self.change(|there| there.insert(id.to_owned(), container.map(str::to_owned)));
        ContainerRegistration { roll: Arc::clone(self), id: id.to_owned() }
    }

    /// Ids of all sandboxes.
    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner).containers.keys().cloned().collect()
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Option<String>>) -> T) {
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut there.containers);
        // Every sandbox creation waits for this write, so it is not synced: after a power failure no container runs
        // anyway.
        if let Some(path) = &self.path
            && let Err(error) = write_json(path, &*there, false)
        {
            tracing::warn!("failed to write {}: {error}", path.display());
        }
    }
}

impl ContainerRegistration {
    /// Records the container of the sandbox.
    pub(super) fn set_container(&self, container: &str) {
        self.roll.change(|there| there.insert(self.id.clone(), Some(container.to_owned())));
    }
}

impl Drop for ContainerRegistration {
    fn drop(&mut self) {
        self.roll.change(|there| there.remove(&self.id));
    }
}

/// Sandboxes that an earlier process of this data directory recorded.
pub(super) fn read_previous_ids(path: &Path) -> BTreeSet<String> {
    match std::fs::read(path).and_then(|bytes| Ok(serde_json::from_slice::<ContainerRegisterFile>(&bytes)?)) {
        Ok(written) => written.containers.into_keys().collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeSet::new(),
        Err(error) => {
            // The listed containers are still found by their labels.
            tracing::warn!("failed to parse {}: {error}", path.display());
            BTreeSet::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_recorded_until_they_are_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("active_containers.json");
        assert_eq!(read_previous_ids(&path), BTreeSet::new());
        let roll = ContainerRegister::new(Some(path.clone()));
        let first = roll.register("sb-1", None);
        let second = roll.register("sb-2", Some("c2"));
        first.set_container("c1");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"sb-1\": \"c1\"") && text.contains("\"version\": 1"), "{text}");
        drop(first);
        assert_eq!(read_previous_ids(&path), BTreeSet::from(["sb-2".to_owned()]));
        drop(second);
        assert_eq!((read_previous_ids(&path), roll.ids()), (BTreeSet::new(), BTreeSet::new()));
    }
}
