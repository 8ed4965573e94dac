//! `recovery.json`: number of resumed runs and the last failure.

use std::path::{Path, PathBuf};

use crate::AppError;
use crate::error::FileContext;
use menace_analysis::write_atomically;
use serde::{Deserialize, Serialize};

const FILE: &str = "recovery.json";

/// Content of the file. The names are those of the gauges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryFile {
    version: u32,
    /// Number of resumed runs.
    pub sandbox_restart_total: u64,
    /// Time of the last failure in seconds since 1970; 0 if there was none.
    pub sandbox_last_failure_ts: f64,
    /// The last failed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailedRunRecord>,
}

/// A failed run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedRunRecord {
    /// Id of the run.
    pub run: String,
    /// The error.
    pub reason: String,
}

/// Counts a resumed run.
pub(super) fn restarted(directory: &Path) -> Result<(), AppError> {
    changed(directory, |recovery| recovery.sandbox_restart_total += 1)
}

/// Records a failed run.
pub(super) fn failed(directory: &Path, run: &str, at_ms: i64, reason: &str) -> Result<(), AppError> {
    changed(directory, |recovery| {
        recovery.sandbox_last_failure_ts = at_ms as f64 / 1e3;
        recovery.last_failure = Some(FailedRunRecord { run: run.to_owned(), reason: reason.to_owned() });
    })
}

impl RecoveryFile {
    /// Reads the file; zeros if it does not exist.
    pub fn read(path: &Path) -> Result<Self, AppError> {
        read(path)
    }
}

/// Path of the file in a data directory.
pub fn recovery_path(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

fn changed(directory: &Path, change: impl FnOnce(&mut RecoveryFile)) -> Result<(), AppError> {
    let path = directory.join(FILE);
    let mut recovery = read(&path)?;
    recovery.version = 1;
    change(&mut recovery);
    let text = serde_json::to_vec_pretty(&recovery)?;
    write_atomically(&path, &text).file("write", &path)
}

/// Reads the file; zeros if it does not exist.
fn read(path: &Path) -> Result<RecoveryFile, AppError> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| AppError::ForeignFile { path: path.to_owned(), problem: error.to_string() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(RecoveryFile::default()),
        Err(error) => Err(error).file("read", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_counted_and_a_foreign_file_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        restarted(directory.path()).unwrap();
        failed(directory.path(), "r_1", 1_500, "it died").unwrap();
        restarted(directory.path()).unwrap();
        let read = || std::fs::read_to_string(directory.path().join(FILE)).unwrap();
        let known: RecoveryFile = serde_json::from_str(&read()).unwrap();
        assert_eq!((known.sandbox_restart_total, known.sandbox_last_failure_ts), (2, 1.5));
        std::fs::write(directory.path().join(FILE), "[]").unwrap();
        assert!(restarted(directory.path()).is_err());
        assert_eq!(read(), "[]");
    }
}
