//! `recovery.json`: how often a loop was gone on with, and when one last failed.

use std::path::Path;

use anyhow::Context;
use menace_analysis::write_atomically;
use serde::{Deserialize, Serialize};

const FILE: &str = "recovery.json";

/// What is in the file. The names are those of the gauges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Recovery {
    version: u32,
    /// How often a loop was gone on with.
    sandbox_restart_total: u64,
    /// Seconds since 1970 at which one failed last; 0 if none did.
    sandbox_last_failure_ts: f64,
    /// Which it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_failure: Option<Failure>,
}

/// A loop that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Failure {
    run: String,
    reason: String,
}

/// Notes that a loop is gone on with.
pub(super) fn restarted(directory: &Path) -> anyhow::Result<()> {
    changed(directory, |recovery| recovery.sandbox_restart_total += 1)
}

/// Notes that one failed at a time.
pub(super) fn failed(directory: &Path, run: &str, at_ms: i64, reason: &str) -> anyhow::Result<()> {
    changed(directory, |recovery| {
        recovery.sandbox_last_failure_ts = at_ms as f64 / 1e3;
        recovery.last_failure = Some(Failure { run: run.to_owned(), reason: reason.to_owned() });
    })
}

fn changed(directory: &Path, change: impl FnOnce(&mut Recovery)) -> anyhow::Result<()> {
    let path = directory.join(FILE);
    let mut recovery = match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is no file of menace\nhint: move it away", path.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Recovery::default(),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
    };
    recovery.version = 1;
    change(&mut recovery);
    let text = serde_json::to_vec_pretty(&recovery)?;
    write_atomically(&path, &text).with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_counted_and_a_foreign_file_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        restarted(directory.path()).unwrap();
        failed(directory.path(), "r_1", 1_500, "it died").unwrap();
        restarted(directory.path()).unwrap();
        let read = || std::fs::read_to_string(directory.path().join(FILE)).unwrap();
        let known: Recovery = serde_json::from_str(&read()).unwrap();
        assert_eq!((known.sandbox_restart_total, known.sandbox_last_failure_ts), (2, 1.5));
        std::fs::write(directory.path().join(FILE), "[]").unwrap();
        assert!(restarted(directory.path()).is_err());
        assert_eq!(read(), "[]");
    }
}
