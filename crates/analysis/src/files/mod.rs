//! Discovery and reading of the Python files of a repository.

mod read;
mod walk;

pub(crate) use read::read;
pub use walk::WalkError;
pub(crate) use walk::{FileStamp, PythonFile, RepositoryFiles, walk};
