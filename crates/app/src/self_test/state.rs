//! `self_test_state.json`: what a round has done, so that one that was ended goes on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_runner::TestFileOutcome;
use serde::{Deserialize, Serialize};

use super::round::SmokeTestResult;
use crate::error::FileContext;
use crate::{AppContext, AppError};

/// What is known already.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SelfTestState {
    version: u32,
    /// What the files of the repository were; after a change a round begins anew.
    files: BTreeMap<String, String>,
    /// What came of test files.
    pub(super) suites: BTreeMap<String, TestFileOutcome>,
    /// What came of calls of modules without tests.
    pub(super) smoke: BTreeMap<String, SmokeTestResult>,
    #[serde(skip)]
    path: PathBuf,
}

impl SelfTestState {
    /// That of an unfinished round over the same files, or a new one.
    pub(super) fn open(context: &AppContext, files: BTreeMap<String, String>) -> Self {
        let chosen = context.settings().self_test.self_test_state.clone();
        let path = chosen.unwrap_or_else(|| context.data_directory().join("self_test_state.json"));
        let stored = std::fs::read(&path).ok().and_then(|text| match serde_json::from_slice::<Self>(&text) {
            Ok(stored) => Some(stored),
            Err(error) => {
                tracing::warn!("{} cannot be read, so the round begins anew: {error}", path.display());
                None
            }
        });
        match stored.filter(|stored| stored.version == 1 && stored.files == files) {
            Some(stored) => Self { path, ..stored },
            None => Self { version: 1, files, path, ..Self::default() },
        }
    }

    /// How much is known already.
    pub(super) fn known(&self) -> usize {
        self.suites.len() + self.smoke.len()
    }

    /// Writes it down.
    pub(super) fn save(&self) -> Result<(), AppError> {
        let text = serde_json::to_vec(self)?;
        if let Some(directory) = self.path.parent().filter(|directory| *directory != Path::new("")) {
            std::fs::create_dir_all(directory).file("create", directory)?;
        }
        menace_analysis::write_atomically(&self.path, &text).file("write", &self.path)
    }

    /// The round is complete.
    pub(super) fn finish(&self) -> Result<(), AppError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).file("remove", &self.path)
            }
            _ => Ok(()),
        }
    }
}
