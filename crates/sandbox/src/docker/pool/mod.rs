//! Pool of warm containers, so that a sandbox is available immediately (docs/design/018).

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
