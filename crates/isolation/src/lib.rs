//! The steps into a sandbox, in the order in which they must happen. This crate makes no policy decisions; it
//! executes the instructions of the launcher, or of the child of a zygote.
//!
//! Everything here runs in a process with one thread, between a fork and the isolated code.

pub mod capabilities;
pub mod channel;
pub mod clone;
pub mod descriptors;
#[cfg(feature = "library")]
pub mod determinism;
pub mod landlock;
pub mod loopback;
pub mod mount;
pub mod queue_discipline;
pub mod rlimits;
pub mod root;
pub mod seccomp;
mod step;
pub mod tun;
pub mod user_namespace;
pub mod zygote;

#[cfg(test)]
mod forked_child;

pub use step::{StepContext, StepError, StepKind, name_step};
