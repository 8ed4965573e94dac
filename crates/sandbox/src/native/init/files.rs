//! Work on the files of the sandbox, done by a child inside it: a path in an archive, a link or a name can at worst hit
//! the sandbox itself.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{user_files, watching};
use crate::native::protocol::Work;

/// What was written, as the layer itself shows it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layer {
    /// Files, links and other things that are no directories; paths inside. They may be no text, and as such would not
    /// travel.
    pub(crate) written: Vec<OsString>,
    /// Names of the directory below that are hidden.
    pub(crate) hidden: Vec<OsString>,
    /// Directories that hide everything of the same name below.
    pub(crate) opaque: Vec<OsString>,
}

/// Does the work. The error is what the user reads.
pub(super) fn work(work: &Work, scratch: BorrowedFd, archive: OwnedFd) -> Result<(), String> {
    let result = match work {
        Work::Unpack { directory } => return unpack(directory, archive),
        Work::Pack { path } => pack(path, archive),
        Work::PackLayer => pack_layer(&layer_path(scratch), archive),
        Work::ListLayer => list_layer(&layer_path(scratch))
            .and_then(|layer| postcard::to_allocvec(&layer).map_err(io::Error::other))
            .and_then(|bytes| File::from(archive).write_all(&bytes)),
        Work::Remove { paths } => paths.iter().try_for_each(|path| remove(Path::new(path))),
        Work::Files(work) => user_files::done(work)
            .and_then(|entries| postcard::to_allocvec(&entries).map_err(io::Error::other))
            .and_then(|bytes| File::from(archive).write_all(&bytes)),
        Work::Watch { path } => watching::watch(path, archive),
    };
    result.map_err(|error| error.to_string())
}

fn layer_path(scratch: BorrowedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", scratch.as_raw_fd()))
}

fn unpack(directory: &Path, archive: OwnedFd) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut archive = tar::Archive::new(File::from(archive));
    archive.set_preserve_permissions(true);
    // The rights of another user or group mean nothing inside, and nobody inside may give them.
    archive.set_mask(0o6000);
    for entry in archive.entries().map_err(|error| error.to_string())? {
        let mut entry = entry.map_err(|error| error.to_string())?;
        let path = entry.path().map_err(|error| error.to_string())?.into_owned();
        if !stays_below(&path) {
            return Err(format!("the archive has an entry outside of its directory: {}", path.display()));
        }
        match entry.unpack_in(directory) {
            Ok(true) => {}
            Ok(false) => {
                return Err(format!("the archive has an entry outside of its directory: {}", path.display()));
            }
            Err(error) => return Err(reason(&error)),
        }
    }
    Ok(())
}

/// The innermost cause: the tar library wraps it in its own words, which repeat the path.
fn reason(error: &io::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

fn stays_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn pack(path: &Path, archive: OwnedFd) -> io::Result<()> {
    let mut builder = tar::Builder::new(io::BufWriter::new(File::from(archive)));
    builder.follow_symlinks(false);
    let name = path.file_name().unwrap_or(OsStr::new("."));
    if fs::symlink_metadata(path)?.is_dir() {
        builder.append_dir_all(name, path)?;
    } else {
        builder.append_path_with_name(path, name)?;
    }
    builder.into_inner()?.flush()
}

/// The parts of the layer and where they are seen.
const PARTS: [(&str, &str); 2] = [("layer", "/workspace"), ("tmp", "/tmp")];

fn pack_layer(layer: &Path, archive: OwnedFd) -> io::Result<()> {
    let mut builder = tar::Builder::new(io::BufWriter::new(File::from(archive)));
    builder.follow_symlinks(false);
    // A file with many names is kept once: otherwise a small disk could fill that of the host.
    let mut linked = HashMap::new();
    for (part, target) in PARTS {
        for (path, inside, kind) in walk(&layer.join(part), Path::new(target))? {
            if matches!(kind, Thing::Directory | Thing::Written) {
                let name = inside.strip_prefix("/").unwrap_or(&inside);
                let metadata = fs::symlink_metadata(&path)?;
                let has_names = metadata.is_file() && metadata.nlink() > 1;
                let first_name =
                    if has_names { linked.insert(metadata.ino(), name.to_owned()) } else { None };
                if let Some(first_name) = first_name {
                    let mut header = tar::Header::new_gnu();
                    header.set_metadata(&metadata);
                    header.set_entry_type(tar::EntryType::Link);
                    header.set_size(0);
                    builder.append_link(&mut header, name, first_name)?;
                } else if metadata.is_file() {
                    // Opened first: the archive gets the mode that the file has after that.
                    builder.append_file(name, &mut with_rights(&path, || File::open(&path))?)?;
                } else {
                    builder.append_path_with_name(&path, name)?;
                }
            }
        }
    }
    builder.into_inner()?.flush()
}

fn list_layer(layer: &Path) -> io::Result<Layer> {
    let mut listing = Layer::default();
    for (part, target) in PARTS {
        for (path, inside, kind) in walk(&layer.join(part), Path::new(target))? {
            match kind {
                Thing::Directory if with_rights(&path, || is_opaque(&path))? => {
                    listing.opaque.push(inside.into());
                }
                Thing::Directory => {}
                Thing::Whiteout => listing.hidden.push(inside.into()),
                Thing::Written | Thing::Special => listing.written.push(inside.into()),
            }
        }
    }
    Ok(listing)
}

#[derive(Clone, Copy)]
enum Thing {
    Directory,
    /// A file or a link.
    Written,
    /// A socket or a pipe, which no archive keeps.
    Special,
    /// overlayfs's mark for a name that is gone.
    Whiteout,
}

/// Everything below a directory, parents first, sorted by name.
fn walk(directory: &Path, inside: &Path) -> io::Result<Vec<(PathBuf, PathBuf, Thing)>> {
    with_rights(directory, || walk_readable(directory, inside))
}

/// Does something with a file or directory that a program may have closed even to its owner, who is the one to look at
/// it now. What a program writes must be seen whatever it does.
fn with_rights<T>(path: &Path, mut action: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    match action() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        result => return result,
    }
    let before = fs::symlink_metadata(path)?.permissions();
    fs::set_permissions(path, fs::Permissions::from_mode(before.mode() | 0o700))?;
    let result = action();
    fs::set_permissions(path, before)?;
    result
}

fn walk_readable(directory: &Path, inside: &Path) -> io::Result<Vec<(PathBuf, PathBuf, Thing)>> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, target) = (entry.path(), inside.join(entry.file_name()));
        let metadata = entry.metadata()?;
        let kind = metadata.file_type();
        let thing = if kind.is_dir() {
            Thing::Directory
        } else if kind.is_char_device() && metadata.rdev() == 0 {
            Thing::Whiteout
        } else if kind.is_file() || kind.is_symlink() {
            Thing::Written
        } else {
            Thing::Special
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
        // A longer value is none of overlayfs's marks.
        Err(rustix::io::Errno::RANGE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
