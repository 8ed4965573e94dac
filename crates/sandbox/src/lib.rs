//! Sandboxes behind one trait: [`Backend`] makes them, [`Sandbox`] is one, [`Process`] is a command in it.
//!
//! This is the only crate that talks to the kernel about isolation. There is no unisolated fallback: a host that cannot
//! do a step gets an error that names it.

mod author;
mod backend;
pub mod docker;
mod environment;
mod error;
pub mod fake;
mod faults;
mod files;
mod kept;
pub mod native;
pub mod overlays;
pub mod probe;
mod snapshot;

pub use backend::{Backend, Connection, Event, Process, Sandbox, Watch};
pub use error::SandboxError;
pub use snapshot::Snapshot;

use std::ffi::OsString;
use std::process::ExitCode;

/// The binary is started again to make namespaces: as a launcher of sandboxes, or to find out what this host can do. A
/// `main` calls this before anything else and returns what it returns, if that is not `None`.
pub fn child_main(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1).is_some_and(|argument| argument == native::LAUNCHER_ARGUMENT) {
        return Some(native::launcher_main());
    }
    probe::child_main(arguments)
}
