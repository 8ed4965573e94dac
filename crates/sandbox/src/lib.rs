//! Sandboxes behind one trait: a [`Backend`] creates each [`Sandbox`], and a [`SandboxProcess`] is a command that runs in one.
//!
//! This is the only crate that talks to the kernel about isolation. There is no unisolated fallback: a host that cannot
//! perform a step gets an error that names the step.

mod backend;
pub mod docker;
mod environment;
mod error;
mod faults;
mod files;
pub mod native;
mod output_capture;
pub mod overlays;
pub mod probe;
mod resource_creator;
mod snapshot;

pub use backend::{Backend, ProcessEvent, Sandbox, SandboxConnection, SandboxFileWatch, SandboxProcess};
pub use error::SandboxError;
pub use snapshot::SandboxSnapshot;

use std::ffi::OsString;
use std::process::ExitCode;

/// Entry point for re-executions of the binary: as the launcher of native sandboxes, or as a capability probe. `main`
/// calls this before anything else and exits with the returned code unless it is `None`.
pub fn child_main(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1).is_some_and(|argument| argument == native::LAUNCHER_ARGUMENT) {
        return Some(native::launcher_main());
    }
    probe::child_main(arguments)
}
