//! Options of the container pool.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::sandbox::SandboxSpec;

/// Size, limits and files of the pool.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolOptions {
    /// Number of warm containers per requested kind; 0 disables the pool.
    pub size: usize,
    /// Label of containers created for the pool.
    pub label: String,
    /// Highest number of containers, warm and in use together.
    pub most: usize,
    /// Time after which a container of an unrequested kind is removed.
    pub idle: Duration,
    /// Longest time that a container waits.
    pub lifetime: Duration,
    /// Most bytes of files in a waiting container; 0 means no limit.
    pub disk: u64,
    /// Number of consecutive creation failures that causes a warning.
    pub fail_threshold: u32,
    /// Number of consecutive removal failures that causes an error.
    pub alert_threshold: u32,
    /// Lock file held while filling the pool or removing stale resources.
    pub lock: Option<PathBuf>,
    /// File for the failure counts.
    pub failures: Option<PathBuf>,
    /// File that lists the existing containers.
    pub active: Option<PathBuf>,
    /// Spec of the containers that are created before the first request.
    pub usual: Option<SandboxSpec>,
}

impl PoolOptions {
    /// Default options, with all files in a directory.
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
