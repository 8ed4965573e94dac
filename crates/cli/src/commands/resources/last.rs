//! Record of the last clean-up: `cleanup.json`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use menace_analysis::write_atomically;
use serde::{Deserialize, Serialize};

use menace_app::calling::now_ms;

/// Number of removed resources of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RemovedResources {
    pub(super) runs: usize,
    pub(super) containers: usize,
    pub(super) volumes: usize,
    pub(super) networks: usize,
    pub(super) overlays: usize,
}

/// Content of `cleanup.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LastCleanUp {
    version: u32,
    pub(super) at_ms: i64,
    pub(super) removed: RemovedResources,
}

/// Records what was removed, if there is a data directory.
pub(super) fn write(data: &Path, removed: &RemovedResources) -> anyhow::Result<()> {
    if !data.is_dir() {
        return Ok(());
    }
    let last = LastCleanUp { version: 1, at_ms: now_ms(), removed: removed.clone() };
    write_atomically(&path(data), &serde_json::to_vec_pretty(&last)?)
        .with_context(|| format!("failed to write {}", path(data).display()))
}

/// Reads the record of the last clean-up.
pub(super) fn read(data: &Path) -> anyhow::Result<Option<LastCleanUp>> {
    match std::fs::read(path(data)) {
        Ok(bytes) => Ok(Some(
            serde_json::from_slice(&bytes)
                .with_context(|| format!("failed to parse {}", path(data).display()))?,
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("failed to read {}", path(data).display())),
    }
}

fn path(data: &Path) -> PathBuf {
    data.join("cleanup.json")
}
