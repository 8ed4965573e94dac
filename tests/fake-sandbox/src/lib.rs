//! In-memory backend: the second implementation of the sandbox traits that keeps the conformance suite from describing
//! only the native one. It isolates nothing because it runs nothing: its programs are functions, its files a map.
//! Anything unsupported is an error, never a silent success.
//!
//! It writes nothing to the host, so it rejects [`menace_model::sandbox::MountAccess::ReadWrite`] mounts and
//! [`menace_model::sandbox::WorkspaceContent::ReadWrite`], as its capabilities say: a test that passes with a fake must not be
//! able to damage the checkout it runs in.
//!
//! Permissions are stored and shown, but not enforced: tests of denied access need a real backend.
//!
//! A crate of its own because it must never be part of the binary: only tests depend on it.
//!
//! ```
//! use menace_fake_sandbox::FakeBackend;
//! use menace_model::sandbox::{ExecRequest, SandboxSpec};
//! use menace_sandbox::Backend;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), menace_sandbox::SandboxError> {
//! let sandbox = FakeBackend.create(SandboxSpec::default()).await?;
//! let outcome = sandbox.exec(ExecRequest::new(["sh", "-c", "echo $HOME"])).await?;
//! assert_eq!(outcome.stdout, "/workspace\n");
//! # Ok(())
//! # }
//! ```

mod archive;
mod backend;
mod environment;
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
