//! The guest program that runs inside containers, and the protocol between it and the host.
//!
//! A container engine can start a program in a container and attach to its streams; it cannot kill the program's
//! descendants, report the signal that ended it, or open a connection to it. So this program leads every command and does
//! those things. It is linked statically and needs nothing from the image in which it runs.
//!
//! The file operations are shared with native sandboxes, where a child of the init process performs them.

pub mod archive;
pub mod file_operations;
pub mod file_watch;
pub mod protocol;
mod reported_failure;
pub mod terminals;

pub use reported_failure::ReportedFailure;
