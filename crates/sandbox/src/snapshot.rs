//! Copy of the files of a sandbox that is independent of the sandbox.

use std::path::PathBuf;

use menace_model::sandbox::{FileChanges, SandboxSpec};
use tempfile::TempPath;

/// Files written and deleted in a sandbox. The copy on disk is removed when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct SandboxSnapshot {
    /// Spec of the original sandbox.
    pub spec: SandboxSpec,
    /// Files written and deleted.
    pub changes: FileChanges,
    /// Files and whole directories to remove before the archive is unpacked.
    pub removed: Vec<PathBuf>,
    /// Tar archive of the written files, with paths relative to the root of the sandbox.
    pub archive: std::sync::Arc<TempPath>,
}
