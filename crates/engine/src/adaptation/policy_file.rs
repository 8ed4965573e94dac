//! Reading and writing the file of a preset policy (`SANDBOX_PRESET_RL_PATH`). Files of other kinds are never overwritten.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use menace_analysis::write_atomically;
use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::policy::{ActionReward, AdaptationPolicy, PendingAction, PolicyAction, TrendState};

const KIND: &str = "menace preset policy";
const VERSION: u32 = 1;

/// Failure to load, store or configure a preset policy.
#[derive(Debug, Error)]
pub enum AdaptationPolicyError {
    /// The file exists but cannot be read.
    #[error("failed to read the preset policy {path}: {source}")]
    Read {
        /// Path of the policy file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file has other content, or only a part of a policy.
    #[error("{path} is not a preset policy: {problem}")]
    Foreign {
        /// Path of the file.
        path: PathBuf,
        /// Parse error or the first inconsistency.
        problem: String,
    },
    /// The file could not be written.
    #[error("failed to write the preset policy {path}: {source}")]
    Write {
        /// Path of the policy file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// `SANDBOX_PRESET_RL_STRATEGY` names an unknown strategy.
    #[error("unknown SANDBOX_PRESET_RL_STRATEGY {0:?}")]
    Strategy(String),
}

impl ErrorDetails for AdaptationPolicyError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Foreign { .. } | Self::Strategy(_) => ErrorClass::Usage,
            Self::Read { .. } | Self::Write { .. } => ErrorClass::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Foreign { .. } => {
                "the file was not changed; set SANDBOX_PRESET_RL_PATH to another path (a missing file is created)"
            }
            Self::Strategy(_) => "the only strategy is 'table', which is also the default",
            Self::Read { .. } | Self::Write { .. } => return None,
        };
        Some(text.to_owned())
    }
}

/// Learning method of a policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LearningStrategy {
    /// Table with the mean ROI change of each action in each state.
    #[default]
    Table,
}

impl LearningStrategy {
    /// Parses the name of a strategy; `None` and the empty name mean the default.
    pub fn of_name(name: Option<&str>) -> Result<Self, AdaptationPolicyError> {
        match name.map(str::trim) {
            None | Some("" | "table") => Ok(Self::Table),
            Some(other) => Err(AdaptationPolicyError::Strategy(other.to_owned())),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyDocument {
    kind: String,
    version: u32,
    table: Vec<PolicyTableRow>,
    pending: Option<PendingAction>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyTableRow {
    state: TrendState,
    action: PolicyAction,
    count: u64,
    mean: f64,
}

impl AdaptationPolicy {
    /// Reads a policy from `path`. A missing file yields an empty policy.
    pub fn read(path: &Path, seed: u64, cycle: usize) -> Result<Self, AdaptationPolicyError> {
        let mut policy = Self::new(seed, cycle);
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(policy),
            Err(source) => return Err(AdaptationPolicyError::Read { path: path.to_owned(), source }),
        };
        let foreign = |problem: String| AdaptationPolicyError::Foreign { path: path.to_owned(), problem };
        let written: PolicyDocument =
            serde_json::from_slice(&text).map_err(|error| foreign(error.to_string()))?;
        (policy.table, policy.pending) = checked_content(written).map_err(foreign)?;
        Ok(policy)
    }

    /// Writes the policy atomically.
    pub fn write(&self, path: &Path) -> Result<(), AdaptationPolicyError> {
        let rows = self.table.iter().map(|((state, action), learned)| PolicyTableRow {
            state: *state,
            action: *action,
            count: learned.count,
            mean: learned.mean,
        });
        let written = PolicyDocument {
            kind: KIND.into(),
            version: VERSION,
            table: rows.collect(),
            pending: self.pending,
        };
        let failed = |source: io::Error| AdaptationPolicyError::Write { path: path.to_owned(), source };
        let mut text = serde_json::to_vec_pretty(&written).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        write_atomically(path, &text).map_err(failed)
    }
}

type PolicyContent = (BTreeMap<(TrendState, PolicyAction), ActionReward>, Option<PendingAction>);

fn checked_content(written: PolicyDocument) -> Result<PolicyContent, String> {
    if written.kind != KIND {
        return Err(format!("its kind is {:?}", written.kind));
    }
    if written.version != VERSION {
        return Err(format!("its version is {}, expected {VERSION}", written.version));
    }
    let mut table = BTreeMap::new();
    for PolicyTableRow { state, action, count, mean } in written.table {
        if count == 0 {
            return Err("a row has count 0".into());
        }
        if table.insert((state, action), ActionReward { count, mean }).is_some() {
            return Err("two rows have the same state and action".into());
        }
    }
    Ok((table, written.pending))
}
