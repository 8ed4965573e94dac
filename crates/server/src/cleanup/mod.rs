//! Periodic clean-up of stale resources: its workers, their tasks, and the observer of containers.

mod pool_observer;
mod tasks;
mod workers;

pub use tasks::CleanupOptions;

pub(crate) use pool_observer::ServicePoolObserver;
