//! The files of a sandbox, apart from it.

use std::path::PathBuf;

use menace_model::sandbox::{FileChanges, SandboxSpec};
use tempfile::TempPath;

/// What was written and deleted in a sandbox. The copy on disk goes when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// How the sandbox was made.
    pub spec: SandboxSpec,
    /// What was written and deleted.
    pub changes: FileChanges,
    /// Files and whole directories that are to be removed before the archive is unpacked.
    pub removed: Vec<PathBuf>,
    /// A tar archive of what was written, with paths relative to the root of the sandbox.
    pub archive: std::sync::Arc<TempPath>,
}
