//! What the tests of menace have in common: the binary, temporary repositories, cases written in Markdown, a dockerd.
//!
//! Everything here looks at menace from outside. The binary is found beside the test executable and built if it is
//! missing or older than its source, so that `cargo nextest run --package menace-tests` alone is enough.
#![expect(clippy::missing_panics_doc, reason = "a panic is how a test says that something is wrong")]

mod binary;
pub mod cases;
mod dockerd;
#[expect(clippy::unwrap_used, reason = "a panic is how a test says that something is wrong")]
pub mod http;
mod invocation;
mod nobody;
#[expect(clippy::unwrap_used, reason = "a panic is how a test says that something is wrong")]
mod server;
mod tree;

pub use binary::{menace_binary, workspace_directory};
pub use dockerd::{docker_options, with_docker};
pub use invocation::{Invocation, Outcome};
pub use nobody::{as_caller, as_nobody};
pub use server::Server;
pub use tree::Tree;
