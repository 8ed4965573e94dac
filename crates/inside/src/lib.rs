//! The program of ours that runs inside containers, and what the host and it say to each other.
//!
//! An engine of containers can start a program in one and attach to its streams; it cannot kill what the program
//! started, say by which signal it ended, or open a connection to it. So every command is led by this program, which
//! can. It is built statically, and does not need anything of the image that it runs in.
//!
//! The work on files is shared with native sandboxes, where a child of the first process does it.

pub mod archive;
pub mod protocol;
pub mod terminals;
pub mod user_files;
pub mod watching;
