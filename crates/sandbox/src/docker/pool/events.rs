//! What happens to containers, for whoever counts it.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum PoolEvent {
    /// A container was made and runs.
    Created {
        /// Of which image.
        image: String,
        /// How long that took.
        took: Duration,
        /// How long the next failure would be waited for.
        backoff: Duration,
    },
    /// A container could not be made.
    CreationFailed {
        /// Of which image.
        image: String,
        /// How long that took.
        took: Duration,
        /// How often that has happened with this image.
        failures: u64,
        /// How often in a row.
        consecutive: u64,
        /// How long it is waited before that is tried again.
        backoff: Duration,
        /// Why.
        problem: String,
    },
    /// So many containers of an image wait now.
    Waiting {
        /// Which.
        image: String,
        /// How many.
        count: usize,
    },
    /// A sandbox was refused because there are too many containers.
    LimitReached,
    /// Something was removed that nobody needs.
    Removed {
        /// Why.
        why: Removal,
        /// What: the sandbox, or the name that the engine has for it.
        name: String,
    },
    /// Something could not be removed. It is tried again.
    RemovalFailed {
        /// What.
        name: String,
        /// How often in a row.
        attempts: u32,
        /// Somebody has to be told.
        is_alert: bool,
        /// Why.
        problem: String,
    },
    /// A container had to be killed before it could be removed.
    ForceKilled {
        /// Which sandbox.
        name: String,
    },
}

/// Why something was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Removal {
    /// Nobody asked for it.
    Idle,
    /// Our program in it did not answer.
    Unhealthy,
    /// It has waited as long as anything may.
    Lifetime,
    /// Its files took too much.
    Disk,
    /// It gave way to another one.
    GaveWay,
    /// It was a container that nobody knows any more.
    StaleContainer,
    /// It was a volume that nobody knows any more.
    StaleVolume,
    /// It was a network that nobody knows any more.
    StaleNetwork,
}

/// Whoever has the pool.
pub trait PoolObserver: Send + Sync {
    /// Hears what happens.
    fn happened(&self, event: PoolEvent);

    /// Sandboxes that must not be removed though nobody here uses them: they are to be taken over. If that is not known,
    /// nothing is removed.
    fn keeps(&self) -> io::Result<BTreeSet<String>>;
}
