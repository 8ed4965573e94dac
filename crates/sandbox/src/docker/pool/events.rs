//! Events of the container pool, for metrics.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

/// Event of the pool.
#[derive(Debug, Clone, PartialEq)]
pub enum PoolEvent {
    /// A container was created and runs.
    Created {
        /// Image of the container.
        image: String,
        /// Duration of the creation.
        took: Duration,
        /// Delay that a failure would cause next.
        backoff: Duration,
    },
    /// A container could not be created.
    CreationFailed {
        /// Image of the container.
        image: String,
        /// Duration of the attempt.
        took: Duration,
        /// Total number of failures with this image.
        failures: u64,
        /// Number of consecutive failures.
        consecutive: u64,
        /// Delay before the next attempt.
        backoff: Duration,
        /// Error message.
        problem: String,
    },
    /// The number of warm containers of an image changed.
    Waiting {
        /// Image of the containers.
        image: String,
        /// Number of warm containers.
        count: usize,
    },
    /// A sandbox was rejected because the container limit is reached.
    LimitReached,
    /// An unneeded resource was removed.
    Removed {
        /// Reason of the removal.
        why: PoolRemovalReason,
        /// Sandbox id, or the engine's name of the resource.
        name: String,
    },
    /// A resource could not be removed. The removal is retried.
    RemovalFailed {
        /// Sandbox id, or the engine's name of the resource.
        name: String,
        /// Number of consecutive failures.
        attempts: u32,
        /// Whether the failures reached the alert threshold.
        is_alert: bool,
        /// Error message.
        problem: String,
    },
    /// A container had to be killed before it could be removed.
    ForceKilled {
        /// Sandbox id.
        name: String,
    },
}

/// Reason of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolRemovalReason {
    /// The container was not requested within the idle time.
    Idle,
    /// The guest program in the container did not answer.
    Unhealthy,
    /// The container reached the maximum waiting time.
    Lifetime,
    /// Files of the container exceeded the disk limit.
    Disk,
    /// The container was evicted to make room for another one.
    GaveWay,
    /// Stale container.
    StaleContainer,
    /// Stale volume.
    StaleVolume,
    /// Stale network.
    StaleNetwork,
}

/// Owner of the pool, which receives its events.
pub trait PoolObserver: Send + Sync {
    /// Receives an event.
    fn on_event(&self, event: PoolEvent);

    /// Sandboxes that must not be removed although this process does not use them: they are to be adopted. On an error
    /// nothing is removed.
    fn sandboxes_to_keep(&self) -> io::Result<BTreeSet<String>>;
}
