//! `orphan_modules.json` and `orphan_classifications.json` in the data directory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use menace_model::inventory::{Orphan, OrphanClass};
use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::atomic_write::write_atomically;

/// Candidates for integration, by path.
#[derive(Debug, Default, Serialize, Deserialize)]
struct OrphanModules {
    version: u32,
    modules: Vec<String>,
}

/// Classification of each orphan, by path.
#[derive(Debug, Serialize)]
struct OrphanClassifications<'a> {
    version: u32,
    modules: BTreeMap<&'a str, OrphanRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct OrphanRecord<'a> {
    #[serde(rename = "classification")]
    class: OrphanClass,
    parents: &'a [String],
    redundant: bool,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
}

/// Failure to write an orphan file.
#[derive(Debug, Error)]
#[error("failed to write {path}: {source}")]
pub struct OrphanFileError {
    path: PathBuf,
    source: io::Error,
}

impl ErrorDetails for OrphanFileError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Environment
    }

    fn hint(&self) -> Option<String> {
        Some("choose another directory with --data-dir".into())
    }
}

/// Options for the content of the orphan files.
#[derive(Debug, Clone, Copy)]
pub struct OrphanFileOptions {
    /// Keep redundant and legacy modules among the candidates (`SANDBOX_TEST_REDUNDANT`).
    pub include_redundant: bool,
    /// Drop modules of earlier runs that are no longer orphans (`SANDBOX_CLEAN_ORPHANS`).
    pub clean: bool,
}

/// Writes both files and returns their paths.
pub fn write_orphan_files(
    directory: &Path,
    orphans: &[Orphan],
    options: OrphanFileOptions,
) -> Result<[PathBuf; 2], OrphanFileError> {
    let candidates_path = directory.join("orphan_modules.json");
    let mut modules: Vec<String> = orphans
        .iter()
        .filter(|orphan| options.include_redundant || !is_redundant(orphan))
        .map(|orphan| orphan.path.clone())
        .collect();
    if !options.clean {
        modules.extend(earlier_candidates(&candidates_path));
    }
    modules.sort_unstable();
    modules.dedup();
    let classifications = OrphanClassifications {
        version: 1,
        modules: orphans.iter().map(|orphan| (orphan.path.as_str(), classification(orphan))).collect(),
    };
    let classifications_path = directory.join("orphan_classifications.json");
    write(&candidates_path, &OrphanModules { version: 1, modules })?;
    write(&classifications_path, &classifications)?;
    Ok([candidates_path, classifications_path])
}

fn is_redundant(orphan: &Orphan) -> bool {
    matches!(orphan.class, OrphanClass::Redundant | OrphanClass::Legacy)
}

fn classification(orphan: &Orphan) -> OrphanRecord<'_> {
    OrphanRecord {
        class: orphan.class,
        parents: &orphan.parents,
        redundant: is_redundant(orphan),
        reason: &orphan.reason,
        duplicate_of: orphan.duplicate_of.as_deref(),
        similarity: orphan.similarity,
    }
}

/// Candidates of earlier runs. An unreadable list is not an error: it is rebuilt from the scan.
fn earlier_candidates(path: &Path) -> Vec<String> {
    let Ok(text) = std::fs::read(path) else { return Vec::new() };
    match serde_json::from_slice::<StoredOrphanModules>(&text) {
        Ok(
            StoredOrphanModules::Versioned(OrphanModules { modules, .. })
            | StoredOrphanModules::Plain(modules),
        ) => modules,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "failed to read the earlier orphan list, rebuilding it");
            Vec::new()
        }
    }
}

/// The list in the current format, or a bare array as earlier tools wrote it.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredOrphanModules {
    Versioned(OrphanModules),
    Plain(Vec<String>),
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), OrphanFileError> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain data always serialises");
    text.push(b'\n');
    write_atomically(path, &text).map_err(|source| OrphanFileError { path: path.to_owned(), source })
}
