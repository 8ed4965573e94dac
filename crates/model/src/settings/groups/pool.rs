//! Settings of the container pool and of its clean-up.

use std::path::PathBuf;
use std::time::Duration;

settings! {
    /// The container pool.
    pub struct PoolSettings;

    /// Number of warm containers per requested kind; 0 disables the pool
    pool_size: usize = "2" {
        env: "SANDBOX_POOL_SIZE",
        status: Active,
    }

    /// Docker label of pooled containers
    pool_label: String = "menace_sandbox_pool" {
        env: "SANDBOX_POOL_LABEL",
        status: Active,
    }

    /// Lock file of the pool and its clean-up; if unset, a file in the data directory
    pool_lock: Option<PathBuf> = "" {
        env: "SANDBOX_POOL_LOCK",
        status: Active,
    }

    /// Maximum number of active containers over all pools; 0 means no limit
    max_container_count: usize = "10" {
        env: "SANDBOX_MAX_CONTAINER_COUNT",
        status: Active,
    }

    /// Idle time after which a pooled container is removed, in seconds
    container_idle_timeout: Duration = "300" {
        env: "SANDBOX_CONTAINER_IDLE_TIMEOUT",
        status: Active,
    }

    /// Age at which menace's containers, volumes and networks are removed, in seconds
    container_max_lifetime: Duration = "3600" {
        env: "SANDBOX_CONTAINER_MAX_LIFETIME",
        status: Active,
    }

    /// Consecutive failed container starts before a warning
    pool_fail_threshold: u32 = "5" {
        env: "SANDBOX_POOL_FAIL_THRESHOLD",
        status: Active,
    }

    /// Interval between clean-ups, in seconds
    pool_cleanup_interval: Duration = "60" {
        env: "SANDBOX_POOL_CLEANUP_INTERVAL",
        status: Active,
    }

    /// Interval between liveness checks of the clean-up workers, in seconds
    worker_check_interval: Duration = "30" {
        env: "SANDBOX_WORKER_CHECK_INTERVAL",
        status: Active,
    }

    /// Consecutive failed clean-ups before an error is logged
    cleanup_alert_threshold: u32 = "3" {
        env: "SANDBOX_CLEANUP_ALERT_THRESHOLD",
        status: Active,
    }

    /// File that lists running containers; if unset, a file in the data directory
    active_containers: Option<PathBuf> = "" {
        env: "SANDBOX_ACTIVE_CONTAINERS",
        status: Active,
    }
}
