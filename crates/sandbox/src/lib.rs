//! Sandboxes behind one trait: [`Backend`] makes them, [`Sandbox`] is one, [`Process`] is a command in it.
//!
//! This is the only crate that talks to the kernel about isolation. There is no unisolated fallback: a host that cannot
//! do a step gets an error that names it.

mod backend;
mod error;
pub mod native;
pub mod probe;
mod snapshot;

pub use backend::{Backend, Event, Process, Sandbox};
pub use error::SandboxError;
pub use snapshot::Snapshot;
