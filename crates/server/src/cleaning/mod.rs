//! Periodic clean-up of stale resources: its workers, their tasks, and the observer of containers.

mod crew;
mod observer;
mod sweeping;

pub use sweeping::Cleaning;

pub(crate) use observer::Observer;
