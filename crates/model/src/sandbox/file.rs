//! What is asked about the files of a sandbox beside archives, and the answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Something to be done with files inside. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileWork {
    /// What is in a directory.
    List(PathBuf),
    /// What a path is; links are not followed.
    Look(PathBuf),
    /// Removes a file, or a directory with all that is in it. What is not there is an error.
    Remove(PathBuf),
    /// Gives a file or directory another name. What has that name already is an error, unless it is a file and so is this.
    Rename {
        /// From.
        from: PathBuf,
        /// To; its directory is made if it is missing.
        to: PathBuf,
    },
    /// Makes a directory and those above it. One that is there is fine.
    MakeDirectory(PathBuf),
}

impl FileWork {
    /// As a verb, for errors.
    pub fn action(&self) -> &'static str {
        match self {
            Self::List(_) => "list",
            Self::Look(_) => "look at",
            Self::Remove(_) => "remove",
            Self::Rename { .. } => "rename",
            Self::MakeDirectory(_) => "make",
        }
    }

    /// What it is about.
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::List(path) | Self::Look(path) | Self::Remove(path) | Self::MakeDirectory(path) => path,
            Self::Rename { from, .. } => from,
        }
    }
}

/// A file, directory or something else inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// The last part of its path.
    pub name: String,
    /// What it is.
    pub kind: FileKind,
    /// Its length in bytes.
    pub size: u64,
    /// Who may do what with it, as in `0o644`.
    pub mode: u32,
    /// When it was changed, in seconds since 1970.
    pub modified: i64,
    /// Where a link leads.
    pub target: Option<String>,
}

/// What something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A link, which may lead nowhere.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// Something that happened to a file that is watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEvent {
    /// What happened.
    pub kind: FileEventKind,
    /// Where.
    pub path: String,
}

/// What can happen to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileEventKind {
    /// It is new, or has this name since now.
    Created,
    /// Something was written to it, or its rights are others.
    Changed,
    /// It is gone, or has another name since now.
    Removed,
    /// More happened than could be kept; whoever wants to know has to look.
    Lost,
}
