//! In-memory backend for the tests of other crates. It isolates nothing because it runs nothing: its programs are
//! functions, its files a map. Anything unsupported is an error, never a silent success.
//!
//! It writes nothing to the host, so it rejects [`menace_model::sandbox::MountAccess::ReadWrite`] mounts and
//! [`menace_model::sandbox::WorkspaceContent::ReadWrite`], as its capabilities say: a test that passes with a fake must not be
//! able to damage the checkout it runs in.
//!
//! Permissions are stored and shown, but not enforced: tests of denied access need a real backend.

mod archive;
mod backend;
mod error_number;
#[cfg(test)]
mod fake_tests;
mod file_system;
mod host_files;
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
pub use invocation::{FakeExit, FakeInvocation};
