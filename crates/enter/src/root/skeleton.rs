//! What all sandboxes of a launcher have in common: the read-only system, `/dev`, and empty places to mount on.
//!
//! It is built once, in the launcher's own mount namespace. A sandbox gets its copy with its mount namespace, which costs
//! microseconds, and only adds what is its own.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;
use serde::{Deserialize, Serialize};

use crate::mount::{BindAccess, bind, make_read_only, virtual_file_system};
use crate::{Step, StepError};

/// Something at a path inside. Targets are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A host directory or file, read-only, with what is mounted below it.
    Bind {
        /// On the host.
        source: PathBuf,
        /// Inside.
        target: PathBuf,
    },
    /// A symbolic link.
    Link {
        /// Where it is.
        target: PathBuf,
        /// What it says.
        to: PathBuf,
    },
    /// A small file of ours.
    File {
        /// Where it is.
        target: PathBuf,
        /// What is in it.
        content: String,
    },
    /// An empty directory.
    Directory {
        /// Where it is.
        target: PathBuf,
    },
}

impl Entry {
    /// Where it is inside.
    pub fn target(&self) -> &Path {
        match self {
            Self::Bind { target, .. }
            | Self::Link { target, .. }
            | Self::File { target, .. }
            | Self::Directory { target } => target,
        }
    }
}

/// Directories on which every sandbox mounts something of its own.
const PLACES: [&str; 7] = ["dev/pts", "dev/shm", "proc", "run", "sys", "tmp", "workspace"];

/// Device nodes that are harmless.
const DEVICES: [&str; 6] = ["full", "null", "random", "tty", "urandom", "zero"];

/// Links that programs expect.
const LINKS: [(&str, &str); 6] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/ptmx", "pts/ptmx"),
    ("var/tmp", "/tmp"),
];

/// Builds the tree at `root`, which becomes a mount of its own, read-only.
pub fn build_skeleton(root: &Path, entries: &[Entry]) -> Result<(), StepError> {
    // Everybody inside reads what is made here, whatever the caller's mask is.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    virtual_file_system("tmpfs", root, MountFlags::NOSUID | MountFlags::NODEV, "mode=0755,size=4m")?;
    for place in PLACES {
        make_directory(&root.join(place))?;
    }
    make_directory(&root.join("var"))?;
    for (link, to) in LINKS {
        symlink(to, root.join(link)).step(|| format!("link {link}"))?;
    }
    for device in DEVICES {
        let target = root.join("dev").join(device);
        make_file(&target, b"")?;
        bind(&Path::new("/dev").join(device), &target, BindAccess::Device)?;
    }
    entries.iter().try_for_each(|entry| place(root, entry))?;
    make_read_only(root)
}

/// A file of the host that is not longer is copied: a mount for each would cost every sandbox, and a copy costs nothing.
const LARGEST_COPY: u64 = 64 << 10;

fn place(root: &Path, entry: &Entry) -> Result<(), StepError> {
    let target = inside(root, entry.target());
    match entry {
        Entry::Bind { source, .. } => {
            let kind = fs::metadata(source).step(|| format!("look at {}", source.display()))?;
            if kind.is_file() && kind.len() <= LARGEST_COPY && kind.permissions().mode() & 0o111 == 0 {
                let content = fs::read(source).step(|| format!("read {}", source.display()))?;
                return make_file(&target, &content);
            }
            if kind.is_dir() {
                make_directory(&target)?;
            } else {
                make_file(&target, b"")?;
            }
            bind(source, &target, BindAccess::ReadOnly)
        }
        Entry::Link { to, .. } => symlink(to, &target).step(|| format!("link {}", target.display())),
        Entry::File { content, .. } => make_file(&target, content.as_bytes()),
        Entry::Directory { .. } => make_directory(&target),
    }
}

/// The place of an absolute path below another root.
fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Makes a directory with those above it. Most of them are there already or only the last one is missing.
fn make_directory(path: &Path) -> Result<(), StepError> {
    match fs::create_dir(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => fs::create_dir_all(path).step(|| format!("make the directory {}", path.display())),
    }
}

fn make_file(path: &Path, content: &[u8]) -> Result<(), StepError> {
    let write = || File::create(path).and_then(|mut file| file.write_all(content));
    match write() {
        // Its directory is not an entry of its own.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                make_directory(parent)?;
            }
            write()
        }
        result => result,
    }
    .step(|| format!("make the file {}", path.display()))
}
