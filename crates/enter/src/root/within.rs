//! Making and finding places below a root that is not the root of this process yet.
//!
//! The tree has symbolic links that are meant for whoever runs in it: `/var/tmp` leads to `/tmp`. Followed by the kernel
//! in the usual way, before the root has changed, they lead to the host, where a place for a mount would be made and a
//! file of the host emptied. Here every link is followed as if the root had changed already.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, symlinkat};
use rustix::io::Errno;

use crate::{Step, StepError};

/// How often a path is looked up again because something was mounted or renamed meanwhile.
const ATTEMPTS: usize = 16;

/// A tree, held by its root. Paths are absolute ones of that tree.
pub(crate) struct Tree {
    root: OwnedFd,
}

impl Tree {
    /// The tree at a path of this process.
    pub(crate) fn at(root: &Path) -> Result<Self, StepError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, root, flags, Mode::empty()).step(|| format!("open {}", root.display()))?;
        Ok(Self { root })
    }

    /// Finds what is at a path, at the end of all links.
    pub(crate) fn find(&self, path: &Path) -> Result<OwnedFd, StepError> {
        self.open(path, OFlags::empty()).step(|| format!("find {} inside", path.display()))
    }

    /// Finds a directory, or makes it with all that it is in.
    pub(crate) fn directory(&self, path: &Path) -> Result<OwnedFd, StepError> {
        self.make_directory(path).step(|| format!("make the directory {}", path.display()))
    }

    /// Makes a file. One that is there already is left as it is if there is nothing to put into it.
    pub(crate) fn file(&self, path: &Path, content: &[u8]) -> Result<(), StepError> {
        self.make_file(path, content).step(|| format!("make the file {}", path.display()))
    }

    /// Makes a symbolic link.
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

/// The directory of a path and its name there.
fn split(path: &Path) -> rustix::io::Result<(&Path, &std::ffi::OsStr)> {
    path.parent().zip(path.file_name()).ok_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A tree with a link `out` to a directory of the host that has a file in it.
    fn tree_with_a_way_out() -> (tempfile::TempDir, tempfile::TempDir) {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), inside.path().join("out")).unwrap();
        fs::write(outside.path().join("file"), "precious").unwrap();
        symlink(outside.path().join("file"), inside.path().join("file")).unwrap();
        (inside, outside)
    }

    #[test]
    fn nothing_is_made_or_emptied_outside() {
        let (inside, outside) = tree_with_a_way_out();
        let tree = Tree::at(inside.path()).unwrap();
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
    fn links_lead_to_where_they_will_lead_inside() {
        let inside = tempfile::tempdir().unwrap();
        let tree = Tree::at(inside.path()).unwrap();
        tree.directory(Path::new("/real")).unwrap();
        tree.link(Path::new("/link"), Path::new("/real")).unwrap();
        tree.file(Path::new("/link/deep/er/file"), b"text").unwrap();
        assert_eq!(fs::read_to_string(inside.path().join("real/deep/er/file")).unwrap(), "text");
    }

    #[test]
    fn a_place_that_is_there_is_left_as_it_is() {
        let inside = tempfile::tempdir().unwrap();
        let tree = Tree::at(inside.path()).unwrap();
        tree.file(Path::new("/file"), b"text").unwrap();
        tree.file(Path::new("/file"), b"").unwrap();
        assert_eq!(fs::read_to_string(inside.path().join("file")).unwrap(), "text");
    }
}
