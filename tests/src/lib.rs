//! Shared test support: the binary, temporary repositories, cases written in Markdown, a dockerd.
//!
//! Everything here tests menace from outside. The binary is found beside the test executable and built if it is
//! missing or older than its source, so that `cargo nextest run --package menace-tests` alone is enough.
#![expect(clippy::missing_panics_doc, reason = "a panic is how a test fails")]

mod binary;
pub mod cases;
mod dockerd;
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
pub mod http;
mod invocation;
mod repository_tree;
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod server;
mod unprivileged;

pub use binary::{menace_binary, workspace_directory};
pub use dockerd::{docker_options, with_docker};
pub use invocation::{InvocationOutcome, MenaceInvocation};
pub use repository_tree::RepositoryTree;
pub use server::TestServer;
pub use unprivileged::{as_caller, as_unprivileged_user};
