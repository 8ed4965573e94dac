//! The file of a policy (`SANDBOX_PRESET_RL_PATH`). A file that is something else is never written over.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use menace_analysis::write_atomically;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::policy::{Action, Learned, Pending, Policy, State};

const KIND: &str = "menace preset policy";
const VERSION: u32 = 1;

/// Why a policy cannot be used.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// The file is there and cannot be read.
    #[error("failed to read the preset policy {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is something else, or only a part of a policy.
    #[error(
        "{path} is no preset policy: {problem}\nhint: it was left as it is; SANDBOX_PRESET_RL_PATH can name another file, which need not be there"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// It could not be written.
    #[error("failed to write the preset policy {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nobody can learn like this.
    #[error(
        "SANDBOX_PRESET_RL_STRATEGY is {0:?}, which is no strategy\nhint: there is table; leave it empty for that"
    )]
    Strategy(String),
}

/// How a policy learns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Means in a table.
    #[default]
    Table,
}

impl Strategy {
    /// The strategy with this name; nothing is the usual one.
    pub fn of_name(name: Option<&str>) -> Result<Self, PolicyError> {
        match name.map(str::trim) {
            None | Some("" | "table") => Ok(Self::Table),
            Some(other) => Err(PolicyError::Strategy(other.to_owned())),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    kind: String,
    version: u32,
    table: Vec<Row>,
    pending: Option<Pending>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    state: State,
    action: Action,
    count: u64,
    mean: f64,
}

impl Policy {
    /// Reads one. A file that is not there yet is one that knows nothing.
    pub fn read(path: &Path, seed: u64, cycle: usize) -> Result<Self, PolicyError> {
        let mut policy = Self::new(seed, cycle);
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(policy),
            Err(source) => return Err(PolicyError::Read { path: path.to_owned(), source }),
        };
        let foreign = |problem: String| PolicyError::Foreign { path: path.to_owned(), problem };
        let written: Written = serde_json::from_slice(&text).map_err(|error| foreign(error.to_string()))?;
        (policy.table, policy.pending) = taken(written).map_err(foreign)?;
        Ok(policy)
    }

    /// Writes it, all of it or nothing.
    pub fn write(&self, path: &Path) -> Result<(), PolicyError> {
        let rows = self.table.iter().map(|((state, action), learned)| Row {
            state: *state,
            action: *action,
            count: learned.count,
            mean: learned.mean,
        });
        let written =
            Written { kind: KIND.into(), version: VERSION, table: rows.collect(), pending: self.pending };
        let failed = |source: io::Error| PolicyError::Write { path: path.to_owned(), source };
        let mut text = serde_json::to_vec_pretty(&written).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        write_atomically(path, &text).map_err(failed)
    }
}

type Content = (BTreeMap<(State, Action), Learned>, Option<Pending>);

fn taken(written: Written) -> Result<Content, String> {
    if written.kind != KIND {
        return Err(format!("its kind is {:?}", written.kind));
    }
    if written.version != VERSION {
        return Err(format!("its version is {}, and this menace knows {VERSION}", written.version));
    }
    let mut table = BTreeMap::new();
    for Row { state, action, count, mean } in written.table {
        if count == 0 {
            return Err("a row was never tried".into());
        }
        if table.insert((state, action), Learned { count, mean }).is_some() {
            return Err("two rows are about the same".into());
        }
    }
    Ok((table, written.pending))
}
