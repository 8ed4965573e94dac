//! Pool of warm containers, so that a sandbox is available immediately (docs/design/018).

mod allocation;
mod backoff;
mod clean_up;
mod creation_failures;
mod events;
mod key;
mod options;
mod refill;
mod register;
mod state;
#[cfg(test)]
mod state_tests;

pub(super) use allocation::{ContainerPool, PoolMembership};
pub use events::{PoolEvent, PoolObserver, PoolRemovalReason};
pub use options::PoolOptions;
