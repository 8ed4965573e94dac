//! Work on the files of the sandbox, done by a child inside it: a malicious path in an archive, link or name can
//! affect only the sandbox itself.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use menace_guest::archive::{WrittenFilesArchive, pack, remove, unpack, with_rights};
use menace_guest::{ReportedFailure, file_operations, file_watch};
use serde::{Deserialize, Serialize};

use crate::native::protocol::InitFileWork;

/// Written files, as the overlay layer shows them.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WrittenLayer {
    /// Files, links and other non-directories, as paths inside. They may not be UTF-8, which a `String` could not
    /// carry.
    pub(crate) written: Vec<OsString>,
    /// Names of the lower directory that are hidden.
    pub(crate) hidden: Vec<OsString>,
    /// Directories that hide the directory of the same name below.
    pub(crate) opaque: Vec<OsString>,
}

/// Does the work.
pub(super) fn work(
    work: &InitFileWork,
    scratch: BorrowedFd,
    archive: OwnedFd,
) -> Result<(), ReportedFailure> {
    let result = match work {
        InitFileWork::Unpack { directory } => return unpack(directory, File::from(archive)),
        InitFileWork::Pack { path } => pack(path, File::from(archive)),
        InitFileWork::PackLayer => pack_layer(&layer_path(scratch), archive),
        InitFileWork::ListLayer => list_layer(&layer_path(scratch))
            .and_then(|layer| postcard::to_allocvec(&layer).map_err(io::Error::other))
            .and_then(|bytes| File::from(archive).write_all(&bytes)),
        InitFileWork::Remove { paths } => paths.iter().try_for_each(|path| remove(Path::new(path))),
        InitFileWork::Files(work) => file_operations::perform(work)
            .and_then(|entries| postcard::to_allocvec(&entries).map_err(io::Error::other))
            .and_then(|bytes| File::from(archive).write_all(&bytes)),
        InitFileWork::Watch { path } => watch(path, archive),
    };
    result.map_err(ReportedFailure::from)
}

/// Writes each event, preceded by its length.
fn watch(path: &Path, listener: OwnedFd) -> io::Result<()> {
    let listener = File::from(listener);
    file_watch::watch(path, listener.as_fd(), |event| {
        let body = postcard::to_allocvec(event).map_err(io::Error::other)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        (&listener).write_all(&[&length.to_le_bytes()[..], &body].concat())
    })
}

fn layer_path(scratch: BorrowedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", scratch.as_raw_fd()))
}

/// Parts of the layer and their paths inside.
const PARTS: [(&str, &str); 2] = [("layer", "/workspace"), ("tmp", "/tmp")];

fn pack_layer(layer: &Path, archive: OwnedFd) -> io::Result<()> {
    let mut written = WrittenFilesArchive::new(File::from(archive));
    for (part, target) in PARTS {
        for (path, inside, kind) in walk(&layer.join(part), Path::new(target))? {
            if matches!(kind, LayerEntryKind::Directory | LayerEntryKind::Written) {
                written.add(&path, inside.strip_prefix("/").unwrap_or(&inside))?;
            }
        }
    }
    written.finish()
}

fn list_layer(layer: &Path) -> io::Result<WrittenLayer> {
    let mut listing = WrittenLayer::default();
    for (part, target) in PARTS {
        for (path, inside, kind) in walk(&layer.join(part), Path::new(target))? {
            match kind {
                LayerEntryKind::Directory if with_rights(&path, || is_opaque(&path))? => {
                    listing.opaque.push(inside.into());
                }
                LayerEntryKind::Directory => {}
                LayerEntryKind::Whiteout => listing.hidden.push(inside.into()),
                LayerEntryKind::Written | LayerEntryKind::Special => listing.written.push(inside.into()),
            }
        }
    }
    Ok(listing)
}

#[derive(Clone, Copy)]
enum LayerEntryKind {
    Directory,
    /// A file or a link.
    Written,
    /// A socket or a pipe, which an archive cannot hold.
    Special,
    /// overlayfs's mark for a deleted name.
    Whiteout,
}

/// All entries below a directory, parents first, sorted by name.
fn walk(directory: &Path, inside: &Path) -> io::Result<Vec<(PathBuf, PathBuf, LayerEntryKind)>> {
    with_rights(directory, || walk_readable(directory, inside))
}

fn walk_readable(directory: &Path, inside: &Path) -> io::Result<Vec<(PathBuf, PathBuf, LayerEntryKind)>> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, target) = (entry.path(), inside.join(entry.file_name()));
        let metadata = entry.metadata()?;
        let kind = metadata.file_type();
        let thing = if kind.is_dir() {
            LayerEntryKind::Directory
        } else if kind.is_char_device() && metadata.rdev() == 0 {
            LayerEntryKind::Whiteout
        } else if kind.is_file() || kind.is_symlink() {
            LayerEntryKind::Written
        } else {
            LayerEntryKind::Special
        };
        found.push((path.clone(), target.clone(), thing));
        if kind.is_dir() {
            found.extend(walk(&path, &target)?);
        }
    }
    Ok(found)
}

fn is_opaque(directory: &Path) -> io::Result<bool> {
    let mut value = [0; 1];
    match rustix::fs::lgetxattr(directory, "user.overlay.opaque", &mut value) {
        Ok(length) => Ok(value.get(..length) == Some(b"y")),
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP) => Ok(false),
        // A longer value is not one of overlayfs's marks.
        Err(rustix::io::Errno::RANGE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
