//! File operations in a sandbox other than archives, and their results.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// An operation on files inside a sandbox. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileOperation {
    /// Lists the entries of a directory.
    List(PathBuf),
    /// Describes a path; links are not followed.
    Look(PathBuf),
    /// Removes a file, or a directory with its contents. A missing path is an error.
    Remove(PathBuf),
    /// Renames a file or directory. An existing target is an error, unless both are files.
    Rename {
        /// Present path.
        from: PathBuf,
        /// New path; its parent directory is created if it is missing.
        to: PathBuf,
    },
    /// Creates a directory and its parents. An existing directory is not an error.
    MakeDirectory(PathBuf),
}

impl FileOperation {
    /// Verb for error messages.
    pub fn action(&self) -> &'static str {
        match self {
            Self::List(_) => "list",
            Self::Look(_) => "look at",
            Self::Remove(_) => "remove",
            Self::Rename { .. } => "rename",
            Self::MakeDirectory(_) => "make",
        }
    }

    /// Path of the operation; the present path of a rename.
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::List(path) | Self::Look(path) | Self::Remove(path) | Self::MakeDirectory(path) => path,
            Self::Rename { from, .. } => from,
        }
    }
}

/// A directory entry inside a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Last component of its path.
    pub name: String,
    /// Its type.
    pub kind: FileKind,
    /// Its length in bytes.
    pub size: u64,
    /// Permission bits, as in `0o644`.
    pub mode: u32,
    /// Modification time, in seconds since 1970.
    pub modified: i64,
    /// Target of a link.
    pub target: Option<String>,
}

/// Type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, which may be dangling.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// A change of a watched file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEvent {
    /// Kind of change.
    pub kind: FileEventKind,
    /// Path inside the sandbox.
    pub path: String,
}

/// Kind of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileEventKind {
    /// It was created, or renamed to this path.
    Created,
    /// Its content or its permissions changed.
    Changed,
    /// It was removed, or renamed to another path.
    Removed,
    /// The event queue overflowed: changes were lost, and the watcher has to list the files.
    Lost,
}
