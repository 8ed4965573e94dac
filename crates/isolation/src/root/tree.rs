//! Creates and finds paths below a root that is not yet the root of this process.
//!
//! The tree has symbolic links for the programs that run in it: `/var/tmp` leads to `/tmp`. If the kernel resolved
//! them in the usual way, before the root has changed, they would lead to the host, where a mount point would be
//! created and a file of the host emptied. Here every link is resolved as if the root had changed already.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, symlinkat};
use rustix::io::Errno;

use crate::{StepContext, StepError, StepKind};

/// Number of lookups of a path when mounts or renames interfere.
const ATTEMPTS: usize = 16;

/// A tree, held by a descriptor of its root. Paths are absolute within the tree.
pub(crate) struct RootTree {
    root: OwnedFd,
}

impl RootTree {
    /// Opens the tree at a path of this process.
    pub(crate) fn at(root: &Path) -> Result<Self, StepError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, root, flags, Mode::empty())
            .step_of(StepKind::Open, || format!("open {}", root.display()))?;
        Ok(Self { root })
    }

    /// Opens a path, resolving all links.
    pub(crate) fn find(&self, path: &Path) -> Result<OwnedFd, StepError> {
        self.open(path, OFlags::empty()).step(|| format!("find {} in the sandbox root", path.display()))
    }

    /// Opens a directory, creating it and its parents if needed.
    pub(crate) fn directory(&self, path: &Path) -> Result<OwnedFd, StepError> {
        self.make_directory(path).step(|| format!("create the directory {}", path.display()))
    }

    /// Creates a file. An existing one stays unchanged if the content is empty.
    pub(crate) fn file(&self, path: &Path, content: &[u8]) -> Result<(), StepError> {
        self.make_file(path, content).step(|| format!("create the file {}", path.display()))
    }

    /// Creates a symbolic link.
    pub(crate) fn link(&self, path: &Path, to: &Path) -> Result<(), StepError> {
        let make = || {
            let (directory, name) = split(path)?;
            symlinkat(to, self.make_directory(directory)?, name)
        };
        make().step(|| format!("link {}", path.display()))
    }

    fn open(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
        let mut attempt = 1;
        loop {
            match openat2(&self.root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
                Err(Errno::AGAIN) if attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    fn make_directory(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        match self.open(path, OFlags::DIRECTORY) {
            Err(Errno::NOENT) => {}
            result => return result,
        }
        let (above, name) = split(path)?;
        mkdirat(self.make_directory(above)?, name, Mode::from_raw_mode(0o755))?;
        self.open(path, OFlags::DIRECTORY)
    }

    fn make_file(&self, path: &Path, content: &[u8]) -> std::io::Result<()> {
        let (directory, name) = split(path)?;
        // Without O_EXCL a link at the end of the path would be followed.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match openat(self.make_directory(directory)?.as_fd(), name, flags, Mode::from_raw_mode(0o644)) {
            Ok(file) => File::from(file).write_all(content),
            Err(Errno::EXIST) if content.is_empty() => Ok(self.open(path, OFlags::empty()).map(drop)?),
            Err(error) => Err(error.into()),
        }
    }
}

/// Splits a path into its directory and its name.
fn split(path: &Path) -> rustix::io::Result<(&Path, &std::ffi::OsStr)> {
    path.parent().zip(path.file_name()).ok_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A tree with a link `out` to a host directory that contains a file.
    fn tree_with_link_to_host() -> (tempfile::TempDir, tempfile::TempDir) {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), inside.path().join("out")).unwrap();
        fs::write(outside.path().join("file"), "precious").unwrap();
        symlink(outside.path().join("file"), inside.path().join("file")).unwrap();
        (inside, outside)
    }

    #[test]
    fn nothing_is_created_or_emptied_outside() {
        let (inside, outside) = tree_with_link_to_host();
        let tree = RootTree::at(inside.path()).unwrap();
        tree.file(Path::new("/out/file"), b"").unwrap_err();
        tree.file(Path::new("/file"), b"").unwrap_err();
        tree.file(Path::new("/file"), b"text").unwrap_err();
        tree.directory(Path::new("/out/new")).unwrap_err();
        tree.link(Path::new("/out/link"), Path::new("/")).unwrap_err();
        tree.find(Path::new("/out/file")).unwrap_err();
        assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "precious");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_are_resolved_inside_the_tree() {
        let inside = tempfile::tempdir().unwrap();
        let tree = RootTree::at(inside.path()).unwrap();
        tree.directory(Path::new("/real")).unwrap();
        tree.link(Path::new("/link"), Path::new("/real")).unwrap();
        tree.file(Path::new("/link/deep/er/file"), b"text").unwrap();
        assert_eq!(fs::read_to_string(inside.path().join("real/deep/er/file")).unwrap(), "text");
    }

    #[test]
    fn an_existing_file_stays_unchanged() {
        let inside = tempfile::tempdir().unwrap();
        let tree = RootTree::at(inside.path()).unwrap();
        tree.file(Path::new("/file"), b"text").unwrap();
        tree.file(Path::new("/file"), b"").unwrap();
        assert_eq!(fs::read_to_string(inside.path().join("file")).unwrap(), "text");
    }
}
