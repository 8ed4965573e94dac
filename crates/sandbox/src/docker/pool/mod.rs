//! Containers that wait for somebody who wants one, so that a sandbox is there at once (docs/design/018).

mod attempts;
mod backoff;
mod events;
mod key;
mod options;
mod refill;
mod roll;
mod state;
#[cfg(test)]
mod state_tests;
mod sweep;
mod waiting;

pub use events::{PoolEvent, PoolObserver, Removal};
pub use options::PoolOptions;
pub(super) use waiting::{Member, Pool};
