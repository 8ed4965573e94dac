//! The common part of all sandboxes of a launcher: the read-only system, `/dev`, and empty mount points.
//!
//! It is built once, in the launcher's own mount namespace. A sandbox gets its copy with its mount namespace, which
//! costs microseconds, and adds only its own mounts.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;
use serde::{Deserialize, Serialize};

use super::tree::RootTree;
use crate::mount::{BindAccess, attach_to, detached, make_read_only, virtual_file_system};
use crate::{StepContext, StepError};

/// An entry at a path inside the sandbox. Targets are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkeletonEntry {
    /// A host directory or file, read-only, with what is mounted below it.
    Bind {
        /// Path on the host.
        source: PathBuf,
        /// Path inside the sandbox.
        target: PathBuf,
    },
    /// A symbolic link.
    Link {
        /// Path inside the sandbox.
        target: PathBuf,
        /// Destination of the link.
        to: PathBuf,
    },
    /// A small generated file.
    File {
        /// Path inside the sandbox.
        target: PathBuf,
        /// Content of the file.
        content: String,
    },
    /// An empty directory.
    Directory {
        /// Path inside the sandbox.
        target: PathBuf,
    },
}

impl SkeletonEntry {
    /// Path inside the sandbox.
    pub fn target(&self) -> &Path {
        match self {
            Self::Bind { target, .. }
            | Self::Link { target, .. }
            | Self::File { target, .. }
            | Self::Directory { target } => target,
        }
    }
}

/// Mount points that every sandbox needs.
const MOUNT_POINTS: [&str; 8] =
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
pub fn build_skeleton(root: &Path, entries: &[SkeletonEntry]) -> Result<(), StepError> {
    // All users inside the sandbox can read the tree, independently of the caller's umask.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    virtual_file_system("tmpfs", root, MountFlags::NOSUID | MountFlags::NODEV, "mode=0755,size=4m")?;
    let tree = RootTree::at(root)?;
    for mount_point in MOUNT_POINTS {
        tree.directory(Path::new(mount_point))?;
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
    entries.iter().try_for_each(|entry| add_entry(&tree, entry))?;
    make_read_only(root)
}

/// Maximum size of a host file that is copied: a mount for each file would slow down every sandbox, and a copy costs
/// nothing.
const LARGEST_COPY: u64 = 64 << 10;

fn add_entry(tree: &RootTree, entry: &SkeletonEntry) -> Result<(), StepError> {
    match entry {
        SkeletonEntry::Bind { source, target } => {
            let kind = fs::metadata(source).step(|| format!("inspect {}", source.display()))?;
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
        SkeletonEntry::Link { target, to } => tree.link(target, to),
        SkeletonEntry::File { target, content } => tree.file(target, content.as_bytes()),
        SkeletonEntry::Directory { target } => tree.directory(target).map(drop),
    }
}

/// Whether a file may be copied. A copy is readable by all users, so other files must stay mounts, whose mode keeps
/// the sandbox's user out.
fn may_be_copied(file: &fs::Metadata) -> bool {
    file.is_file() && file.len() <= LARGEST_COPY && file.permissions().mode() & 0o115 == 0o004
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_world_readable_files_are_copied() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (mode, expected) in [(0o644, true), (0o600, false), (0o640, false), (0o755, false)] {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(may_be_copied(&fs::metadata(file.path()).unwrap()), expected, "{mode:o}");
        }
    }
}
