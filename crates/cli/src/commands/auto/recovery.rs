//! `recovery.json`: how often a loop was gone on with, and when one last failed.

use std::path::Path;

use anyhow::Context;
use menace_analysis::write_atomically;
use serde::{Deserialize, Serialize};

use crate::arguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{print, print_json};

const FILE: &str = "recovery.json";

/// What is in the file. The names are those of the gauges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RecoveryFile {
    version: u32,
    /// How often a loop was gone on with.
    sandbox_restart_total: u64,
    /// Seconds since 1970 at which one failed last; 0 if none did.
    sandbox_last_failure_ts: f64,
    /// Which it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_failure: Option<LastFailedRun>,
}

/// A loop that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LastFailedRun {
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
        recovery.last_failure = Some(LastFailedRun { run: run.to_owned(), reason: reason.to_owned() });
    })
}

/// `menace recovery`: what the file says.
pub(in crate::commands) fn show(
    configuration: &Configuration,
    arguments: &arguments::RecoveryArguments,
) -> anyhow::Result<MenaceExit> {
    let path = arguments.file.clone().unwrap_or_else(|| configuration.data_directory().join(FILE));
    let recovery = read(&path)?;
    if arguments.output.json {
        print_json(&recovery)?;
    } else {
        print(&recovery.text())?;
    }
    Ok(MenaceExit::Done)
}

impl RecoveryFile {
    fn text(&self) -> String {
        let restarts = self.sandbox_restart_total;
        let failure = match &self.last_failure {
            None if self.sandbox_last_failure_ts > 0.0 => time(self.sandbox_last_failure_ts),
            None => "none".to_owned(),
            Some(LastFailedRun { run, reason }) => {
                format!("{}, {run}: {reason}", time(self.sandbox_last_failure_ts))
            }
        };
        format!("sandbox_restart_total    {restarts}\nsandbox_last_failure_ts  {failure}\n")
    }
}

fn time(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "times of this age of the world are small")]
    let at_ms = (seconds * 1e3) as i64;
    menace_server::time_text(at_ms)
}

fn changed(directory: &Path, change: impl FnOnce(&mut RecoveryFile)) -> anyhow::Result<()> {
    let path = directory.join(FILE);
    let mut recovery = read(&path)?;
    recovery.version = 1;
    change(&mut recovery);
    let text = serde_json::to_vec_pretty(&recovery)?;
    write_atomically(&path, &text).with_context(|| format!("failed to write {}", path.display()))
}

fn read(path: &Path) -> anyhow::Result<RecoveryFile> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is no file of menace\nhint: move it away", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(RecoveryFile::default()),
        Err(error) => Err(error).with_context(|| format!("failed to read {}", path.display())),
    }
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
        let known: RecoveryFile = serde_json::from_str(&read()).unwrap();
        assert_eq!((known.sandbox_restart_total, known.sandbox_last_failure_ts), (2, 1.5));
        std::fs::write(directory.path().join(FILE), "[]").unwrap();
        assert!(restarted(directory.path()).is_err());
        assert_eq!(read(), "[]");
    }
}
