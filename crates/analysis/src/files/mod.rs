//! Which files of a repository are Python, and what is in them.

mod read;
mod walk;

pub(crate) use read::read;
pub use walk::WalkError;
pub(crate) use walk::{PythonFile, Stamp, Walked, walk};
