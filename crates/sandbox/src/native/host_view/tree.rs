//! Reads the file system of the host below a root.
//!
//! Paths are those of the host (`/usr/bin`) and only become paths below the root when the kernel is asked. Symlinks are
//! resolved here and not by the kernel, for two reasons: an absolute link in a fabricated tree must not lead out of it,
//! and the plan has to repeat every link on the way to a program.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, OFlags, lstat, readlinkat_raw};

/// As many links as the kernel follows before it says that they are a loop.
const MAXIMUM_LINKS: usize = 40;
/// The files that are read have a few short lines.
const MAXIMUM_FILE: u64 = 16 << 10;

/// The files of the host.
#[derive(Debug)]
pub(super) struct HostTree {
    root: PathBuf,
}

/// A path without symlinks, and those that were on the way to it.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) path: PathBuf,
    pub(super) links: Vec<Link>,
}

/// A symlink of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// Where it is; no other link is in this path.
    pub(super) at: PathBuf,
    /// What it says, unchanged.
    pub(super) to: PathBuf,
}

/// What there is at a path, without following a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Status {
    pub(super) kind: FileType,
    pub(super) mode: u32,
}

impl HostTree {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// The path to give to the kernel.
    pub(super) fn on_host(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub(super) fn status(&self, path: &Path) -> Option<Status> {
        let status = lstat(self.on_host(path)).ok()?;
        Some(Status { kind: FileType::from_raw_mode(status.st_mode), mode: status.st_mode })
    }

    pub(super) fn exists(&self, path: &Path) -> bool {
        self.status(path).is_some()
    }

    pub(super) fn is_directory(&self, path: &Path) -> bool {
        self.status(path).is_some_and(|status| status.kind == FileType::Directory)
    }

    pub(super) fn is_file(&self, path: &Path) -> bool {
        self.status(path).is_some_and(|status| status.kind == FileType::RegularFile)
    }

    /// Where an absolute path leads, if there is something.
    pub(super) fn resolve(&self, path: &Path) -> Option<Resolved> {
        if !path.is_absolute() {
            return None;
        }
        self.resolve_in(Path::new("/"), path)
    }

    /// The same for a path relative to a directory that is known to have no links in its path.
    pub(super) fn resolve_in(&self, directory: &Path, path: &Path) -> Option<Resolved> {
        let mut reached = directory.to_path_buf();
        let mut links = Vec::new();
        let mut pending = reversed_components(path);
        while let Some(component) = pending.pop() {
            match component.as_bytes() {
                b"/" => reached = PathBuf::from("/"),
                b".." => {
                    reached.pop();
                }
                _ => {
                    reached.push(component);
                    if let Some(to) = self.link(&reached)? {
                        if links.len() == MAXIMUM_LINKS {
                            return None;
                        }
                        pending.extend(reversed_components(&to));
                        let at = reached.clone();
                        reached.pop();
                        links.push(Link { at, to });
                    }
                }
            }
        }
        Some(Resolved { path: reached, links })
    }

    /// What the link at a path says: `None` if nothing can be found there, `Some(None)` if it is no link.
    pub(super) fn link(&self, path: &Path) -> Option<Option<PathBuf>> {
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        match readlinkat_raw(CWD, self.on_host(path), &mut buffer) {
            Ok((to, _)) => Some(Some(PathBuf::from(std::ffi::OsStr::from_bytes(to)))),
            Err(rustix::io::Errno::INVAL) => Some(None),
            Err(_) => None,
        }
    }

    /// The beginning of a small text file.
    pub(super) fn read(&self, path: &Path) -> Option<String> {
        // NONBLOCK, because opening a named pipe would wait for somebody who writes to it.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::open(self.on_host(path), flags, rustix::fs::Mode::empty()).ok()?;
        let mut bytes = Vec::new();
        File::from(file).take(MAXIMUM_FILE).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The names in a directory, no more than a number of them; none if it cannot be read.
    pub(super) fn names_in(&self, directory: &Path, maximum: usize) -> Vec<OsString> {
        let entries = fs::read_dir(self.on_host(directory)).into_iter().flatten();
        entries.take(maximum).flatten().map(|entry| entry.file_name()).collect()
    }

    /// The names of the symlinks among the first entries of a directory.
    pub(super) fn links_in(&self, directory: &Path, maximum: usize) -> Vec<OsString> {
        let entries = fs::read_dir(self.on_host(directory)).into_iter().flatten();
        entries
            .take(maximum)
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
            .map(|entry| entry.file_name())
            .collect()
    }
}

/// Whether a path is a directory or something in it. Both are absolute and have neither `.` nor `..` nor a slash at the
/// end; comparing bytes is then right, and an order of magnitude faster than `Path::starts_with`.
pub(super) fn is_within(path: &Path, directory: &Path) -> bool {
    let (path, directory) = (path.as_os_str().as_bytes(), directory.as_os_str().as_bytes());
    directory == b"/"
        || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn reversed_components(path: &Path) -> Vec<OsString> {
    let components = path.components().filter(|component| *component != Component::CurDir);
    components.rev().map(|component| component.as_os_str().to_owned()).collect()
}
