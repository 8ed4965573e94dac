//! File operations of users, performed by a process inside the sandbox.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use menace_model::sandbox::{FileEntry, FileKind, FileOperation};

/// Performs a file operation. Only listings and lookups return entries.
pub fn perform(work: &FileOperation) -> io::Result<Vec<FileEntry>> {
    match work {
        FileOperation::List(path) => list(path),
        FileOperation::Look(path) => Ok(vec![entry(path, &fs::symlink_metadata(path)?)]),
        FileOperation::Remove(path) => remove(path).map(|()| Vec::new()),
        FileOperation::Rename { from, to } => rename(from, to).map(|()| Vec::new()),
        FileOperation::MakeDirectory(path) => fs::create_dir_all(path).map(|()| Vec::new()),
    }
}

fn list(directory: &Path) -> io::Result<Vec<FileEntry>> {
    let mut entries = Vec::new();
    for one in fs::read_dir(directory)? {
        let path = one?.path();
        match fs::symlink_metadata(&path) {
            Ok(metadata) => entries.push(entry(&path, &metadata)),
            // Removed between the two system calls.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

fn entry(path: &Path, metadata: &Metadata) -> FileEntry {
    let kind = match metadata.file_type() {
        kind if kind.is_dir() => FileKind::Directory,
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    };
    let name = path.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy());
    let target = if kind == FileKind::Link { fs::read_link(path).ok() } else { None };
    FileEntry {
        name: name.into_owned(),
        kind,
        size: metadata.size(),
        mode: metadata.permissions().mode() & 0o7777,
        modified: metadata.mtime(),
        target: target.map(|target| target.to_string_lossy().into_owned()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let is_file = fs::symlink_metadata(from)?.is_file();
    match fs::symlink_metadata(to) {
        Ok(there) if !(is_file && there.is_file()) => return Err(io::Error::from_raw_os_error(libc::EEXIST)),
        Ok(_) | Err(_) => {}
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::rename(from, to) {
        // `/workspace` and `/tmp` are different file systems, which the caller need not know.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices && is_file => {
            fs::copy(from, to)?;
            fs::remove_file(from)
        }
        result => result,
    }
}
