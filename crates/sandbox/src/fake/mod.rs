//! A backend in memory, for the tests of other crates. It isolates nothing because it runs nothing: its programs are
//! functions, its files a map. What it does not know is an error, never a silent success.
//!
//! It writes nothing to the host either, so it refuses [`menace_model::sandbox::Access::ReadWrite`] mounts and
//! [`menace_model::sandbox::Workspace::ReadWrite`] and says so in its capabilities: a test that passes with a fake
//! must not be able to damage the checkout it runs in.
//!
//! Permissions are kept and shown, and not checked: whoever needs a refusal needs a kernel.

mod archive;
mod backend;
mod error_number;
#[cfg(test)]
mod fake_tests;
mod files;
mod host;
mod invocation;
mod machine;
mod process;
mod programs;
mod resolve;
mod sandbox;
mod shell;
mod streams;
mod supervise;

pub use backend::FakeBackend;
pub use invocation::{Exit, Invocation};
