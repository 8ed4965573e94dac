//! How many containers wait, for how long, and where it is written down.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::sandbox::SandboxSpec;

/// How containers wait.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolOptions {
    /// How many wait, of each kind that was asked for. With 0 none does.
    pub size: usize,
    /// The label of those that are made to wait.
    pub label: String,
    /// The most containers at one time, those that wait and those that are used together.
    pub most: usize,
    /// How long one waits that nobody asks for.
    pub idle: Duration,
    /// How long one waits at most.
    pub lifetime: Duration,
    /// How many bytes of files one that waits may have; 0 is any number.
    pub disk: u64,
    /// How many containers in a row cannot be made before that is a warning.
    pub fail_threshold: u32,
    /// How often in a row one cannot be removed before that is an error.
    pub alert_threshold: u32,
    /// Held by whoever makes containers to wait, or removes what nobody needs.
    pub lock: Option<PathBuf>,
    /// Where failures are written down.
    pub failures: Option<PathBuf>,
    /// Where containers that there are are written down.
    pub active: Option<PathBuf>,
    /// What waits before anybody has asked for anything.
    pub usual: Option<SandboxSpec>,
}

impl PoolOptions {
    /// As it is when nobody says otherwise, with all files in a directory.
    pub fn in_directory(directory: &Path) -> Self {
        Self {
            lock: Some(directory.join("pool.lock")),
            failures: Some(directory.join("pool_failures.json")),
            active: Some(directory.join("active_containers.json")),
            ..Self::default()
        }
    }
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            size: 2,
            label: "menace_sandbox_pool".to_owned(),
            most: 10,
            idle: Duration::from_mins(5),
            lifetime: Duration::from_hours(1),
            disk: 0,
            fail_threshold: 5,
            alert_threshold: 3,
            lock: None,
            failures: None,
            active: None,
            usual: None,
        }
    }
}
