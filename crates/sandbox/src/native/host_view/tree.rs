//! Reads the file system of the host below a root.
//!
//! Paths are those of the host (`/usr/bin`) and become paths below the root only for system calls. Symlinks are
//! resolved here and not by the kernel, for two reasons: an absolute link in a fabricated tree must not lead out of
//! it, and the plan has to repeat every link on the way to a program.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, lstat, open, readlinkat_raw};
use rustix::io::Errno;

/// Maximum number of links in one path, as in the kernel, which then returns ELOOP.
const MAXIMUM_LINKS: usize = 40;
/// Maximum size of a file; those that are read have a few short lines.
const MAXIMUM_FILE: u64 = 16 << 10;

/// File system of the host.
#[derive(Debug)]
pub(super) struct HostTree {
    root: PathBuf,
    /// Paths that are known not to be links. A system call takes a microsecond and more, and every path begins with the
    /// same few directories.
    plain: RefCell<HashSet<OsString>>,
}

/// Path without symlinks, and the links on the way to it.
#[derive(Debug)]
pub(super) struct ResolvedHostPath {
    pub(super) path: PathBuf,
    pub(super) links: Vec<HostSymlink>,
}

/// A symlink of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostSymlink {
    /// Path of the link; no other link is in this path.
    pub(super) at: PathBuf,
    /// Text of the link, unchanged.
    pub(super) to: PathBuf,
}

impl HostSymlink {
    /// Whether the link is UTF-8; otherwise it could not be sent to the process that creates it.
    pub(super) fn can_travel(&self) -> bool {
        self.at.to_str().is_some() && self.to.to_str().is_some()
    }
}

/// Result of looking for a link at a path.
#[derive(Debug)]
pub(super) enum SymlinkLookup {
    /// No file, or one that is not accessible.
    Nothing,
    /// A file or directory that is not a link.
    Plain,
    /// A link and its text.
    Link(PathBuf),
}

/// Type and mode of a path, without following a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostFileStatus {
    pub(super) kind: FileType,
    pub(super) mode: u32,
}

/// Names at the top of a directory.
#[derive(Debug)]
pub(super) struct TopLevelNames(Vec<(OsString, FileType)>);

impl TopLevelNames {
    pub(super) fn of(tree: &HostTree, directory: &Path) -> Self {
        Self(tree.list(directory, |_, _| true))
    }

    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        self.0.iter().any(|(found, _)| names.iter().any(|name| found == name))
    }
}

impl HostTree {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), plain: RefCell::default() }
    }

    /// Path for system calls.
    pub(super) fn on_host<'path>(&self, path: &'path Path) -> Cow<'path, Path> {
        if self.root.as_os_str() == "/" {
            return Cow::Borrowed(path);
        }
        Cow::Owned(self.root.join(path.strip_prefix("/").unwrap_or(path)))
    }

    pub(super) fn status(&self, path: &Path) -> Option<HostFileStatus> {
        let status = lstat(&*self.on_host(path)).ok()?;
        Some(HostFileStatus { kind: FileType::from_raw_mode(status.st_mode), mode: status.st_mode })
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

    /// Resolves an absolute path; `None` if it does not exist.
    pub(super) fn resolve(&self, path: &Path) -> Option<ResolvedHostPath> {
        if !path.is_absolute() {
            return None;
        }
        self.resolve_in(Path::new("/"), path)
    }

    /// Resolves a path relative to a directory that is known to have no links in its path.
    pub(super) fn resolve_in(&self, directory: &Path, path: &Path) -> Option<ResolvedHostPath> {
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
                    match self.link(&reached) {
                        SymlinkLookup::Nothing => return None,
                        SymlinkLookup::Plain => {}
                        SymlinkLookup::Link(_) if links.len() == MAXIMUM_LINKS => return None,
                        SymlinkLookup::Link(to) => {
                            pending.extend(reversed_components(&to));
                            let at = reached.clone();
                            reached.pop();
                            links.push(HostSymlink { at, to });
                        }
                    }
                }
            }
        }
        Some(ResolvedHostPath { path: reached, links })
    }

    /// Looks for a link at a path.
    pub(super) fn link(&self, path: &Path) -> SymlinkLookup {
        if self.plain.borrow().contains(path.as_os_str()) {
            return SymlinkLookup::Plain;
        }
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        match readlinkat_raw(CWD, &*self.on_host(path), &mut buffer) {
            Ok((to, _)) => SymlinkLookup::Link(PathBuf::from(OsStr::from_bytes(to))),
            Err(Errno::INVAL) => {
                self.plain.borrow_mut().insert(path.as_os_str().to_owned());
                SymlinkLookup::Plain
            }
            Err(_) => SymlinkLookup::Nothing,
        }
    }

    /// Reads the beginning of a small text file.
    pub(super) fn read(&self, path: &Path) -> Option<String> {
        // NONBLOCK, because opening a named pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = open(&*self.on_host(path), flags, Mode::empty()).ok()?;
        let mut bytes = Vec::new();
        File::from(file).take(MAXIMUM_FILE).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Lists the wanted entries of a directory by name and type; empty if it cannot be read. One system call returns
    /// hundreds of names, so this is cheaper than five separate lookups.
    pub(super) fn list(
        &self,
        directory: &Path,
        is_wanted: impl Fn(&OsStr, FileType) -> bool,
    ) -> Vec<(OsString, FileType)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(opened) = open(&*self.on_host(directory), flags, Mode::empty()) else { return Vec::new() };
        let mut buffer = Vec::with_capacity(32 << 10);
        let mut entries = Vec::new();
        let mut reader = RawDir::new(opened, buffer.spare_capacity_mut());
        while let Some(Ok(entry)) = reader.next() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." && is_wanted(name, entry.file_type()) {
                entries.push((name.to_owned(), entry.file_type()));
            }
        }
        entries
    }
}

/// Whether an entry is a link, or may be one on a file system that does not report types.
pub(super) fn may_be_link(kind: FileType) -> bool {
    matches!(kind, FileType::Symlink | FileType::Unknown)
}

/// Whether a path is a directory or below it. Both are absolute and have neither `.` nor `..` nor a trailing slash;
/// comparing bytes is then correct, and an order of magnitude faster than `ScopeSearch::starts_with`.
pub(super) fn is_within(path: &Path, directory: &Path) -> bool {
    let (path, directory) = (path.as_os_str().as_bytes(), directory.as_os_str().as_bytes());
    directory == b"/"
        || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn reversed_components(path: &Path) -> Vec<OsString> {
    let components = path.components().filter(|component| *component != Component::CurDir);
    components.rev().map(|component| component.as_os_str().to_owned()).collect()
}
