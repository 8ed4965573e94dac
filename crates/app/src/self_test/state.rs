//! `self_test_state.json`: the recorded results of a round, so that an interrupted round can be resumed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_runner::TestFileOutcome;
use serde::{Deserialize, Serialize};

use super::round::SmokeTestResult;
use crate::error::FileContext;
use crate::{AppContext, AppError};

/// Recorded results of an unfinished round.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SelfTestState {
    version: u32,
    /// Fingerprints of the files of the repository; a change starts a new round.
    files: BTreeMap<String, String>,
    /// Outcomes of test files.
    pub(super) suites: BTreeMap<String, TestFileOutcome>,
    /// Results of calls of modules without tests.
    pub(super) smoke: BTreeMap<String, SmokeTestResult>,
    #[serde(skip)]
    path: PathBuf,
}

impl SelfTestState {
    /// Opens the state of an unfinished round over the same files, or a new state.
    pub(super) fn open(context: &AppContext, files: BTreeMap<String, String>) -> Self {
        let chosen = context.settings().self_test.self_test_state.clone();
        let path = chosen.unwrap_or_else(|| context.data_directory().join("self_test_state.json"));
        let stored = std::fs::read(&path).ok().and_then(|text| match serde_json::from_slice::<Self>(&text) {
            Ok(stored) => Some(stored),
            Err(error) => {
                tracing::warn!("failed to read {}, starting a new round: {error}", path.display());
                None
            }
        });
        match stored.filter(|stored| stored.version == 1 && stored.files == files) {
            Some(stored) => Self { path, ..stored },
            None => Self { version: 1, files, path, ..Self::default() },
        }
    }

    /// Number of recorded results.
    pub(super) fn known(&self) -> usize {
        self.suites.len() + self.smoke.len()
    }

    /// Writes the state to its file.
    pub(super) fn save(&self) -> Result<(), AppError> {
        let text = serde_json::to_vec(self)?;
        if let Some(directory) = self.path.parent().filter(|directory| *directory != Path::new("")) {
            std::fs::create_dir_all(directory).file("create", directory)?;
        }
        menace_analysis::write_atomically(&self.path, &text).file("write", &self.path)
    }

    /// Removes the file after a complete round.
    pub(super) fn finish(&self) -> Result<(), AppError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).file("remove", &self.path)
            }
            _ => Ok(()),
        }
    }
}
