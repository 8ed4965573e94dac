//! What all sandboxes of a launcher have in common: the read-only system, `/dev`, and empty places to mount on.
//!
//! It is built once, in the launcher's own mount namespace. A sandbox gets its copy with its mount namespace, which costs
//! microseconds, and only adds what is its own.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;
use serde::{Deserialize, Serialize};

use super::within::Tree;
use crate::mount::{BindAccess, attach_to, detached, make_read_only, virtual_file_system};
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
const PLACES: [&str; 8] =
    ["/dev/pts", "/dev/shm", super::trust::PLACE, "/proc", "/run", "/sys", "/tmp", "/workspace"];

/// Device nodes that are harmless.
const DEVICES: [&str; 6] = ["full", "null", "random", "tty", "urandom", "zero"];

/// Links that programs expect.
const LINKS: [(&str, &str); 6] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
    ("/var/tmp", "/tmp"),
];

/// Builds the tree at `root`, which becomes a mount of its own, read-only.
pub fn build_skeleton(root: &Path, entries: &[Entry]) -> Result<(), StepError> {
    // Everybody inside reads what is made here, whatever the caller's mask is.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    virtual_file_system("tmpfs", root, MountFlags::NOSUID | MountFlags::NODEV, "mode=0755,size=4m")?;
    let tree = Tree::at(root)?;
    for place in PLACES {
        tree.directory(Path::new(place))?;
    }
    tree.directory(Path::new("/var"))?;
    for (link, to) in LINKS {
        tree.link(Path::new(link), Path::new(to))?;
    }
    for device in DEVICES {
        let device = Path::new("/dev").join(device);
        tree.file(&device, b"")?;
        attach_to(&detached(&device, BindAccess::Device)?, tree.find(&device)?.as_fd(), &device)?;
    }
    entries.iter().try_for_each(|entry| place(&tree, entry))?;
    make_read_only(root)
}

/// A file of the host that is not longer is copied: a mount for each would cost every sandbox, and a copy costs nothing.
const LARGEST_COPY: u64 = 64 << 10;

fn place(tree: &Tree, entry: &Entry) -> Result<(), StepError> {
    match entry {
        Entry::Bind { source, target } => {
            let kind = fs::metadata(source).step(|| format!("look at {}", source.display()))?;
            if may_be_copied(&kind) {
                let content = fs::read(source).step(|| format!("read {}", source.display()))?;
                return tree.file(target, &content);
            }
            if kind.is_dir() {
                tree.directory(target)?;
            } else {
                tree.file(target, b"")?;
            }
            attach_to(&detached(source, BindAccess::ReadOnly)?, tree.find(target)?.as_fd(), target)
        }
        Entry::Link { target, to } => tree.link(target, to),
        Entry::File { target, content } => tree.file(target, content.as_bytes()),
        Entry::Directory { target } => tree.directory(target).map(drop),
    }
}

/// A copy is for everybody to read. What is not must stay a mount, whose mode keeps it from the sandbox's user.
fn may_be_copied(file: &fs::Metadata) -> bool {
    file.is_file() && file.len() <= LARGEST_COPY && file.permissions().mode() & 0o115 == 0o004
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_for_everybody_is_not_copied() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (mode, expected) in [(0o644, true), (0o600, false), (0o640, false), (0o755, false)] {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(may_be_copied(&fs::metadata(file.path()).unwrap()), expected, "{mode:o}");
        }
    }
}
