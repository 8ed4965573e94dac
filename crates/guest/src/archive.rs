//! Archives of files in a sandbox, packed and unpacked inside it: a path in an archive, a link or a name can at worst hit
//! the sandbox itself.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use crate::ReportedFailure;

/// Unpacks an archive into a directory, which is created if it is missing. The error text is shown to the user.
pub fn unpack(directory: &Path, archive: impl Read) -> Result<(), ReportedFailure> {
    fs::create_dir_all(directory)
        .map_err(|error| ReportedFailure::from(error).context(directory.display()))?;
    let mut archive = tar::Archive::new(archive);
    archive.set_preserve_permissions(true);
    // The set-user-ID and set-group-ID bits are cleared: they have no meaning in a sandbox, and no process in it may
    // grant them.
    archive.set_mask(0o6000);
    let mut to_restore = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let outside = || {
            ReportedFailure::new(format!("archive entry outside the target directory: {}", path.display()))
        };
        if !is_below_root(&path) {
            return Err(outside());
        }
        match entry.unpack_in(directory) {
            Ok(true) => {}
            Ok(false) => return Err(outside()),
            Err(error) => return Err(ReportedFailure::with_causes(&error)),
        }
        if entry.header().entry_type().is_dir() {
            to_restore.extend(add_permissions(&directory.join(&path), 0o700)?);
        }
    }
    // The entries of a directory follow it in the archive, so its permissions are restored at the end, innermost first.
    for (path, permissions) in to_restore.into_iter().rev() {
        fs::set_permissions(path, permissions)?;
    }
    Ok(())
}

/// Adds these permission bits to a directory if one of them is missing. Returns the permissions from before the change.
pub fn add_permissions(directory: &Path, rights: u32) -> io::Result<Option<(PathBuf, fs::Permissions)>> {
    let before = fs::symlink_metadata(directory)?.permissions();
    if before.mode() & rights == rights {
        return Ok(None);
    }
    fs::set_permissions(directory, fs::Permissions::from_mode(before.mode() | rights))?;
    Ok(Some((directory.to_owned(), before)))
}

fn is_below_root(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Packs a file or directory, with paths relative to its parent.
pub fn pack(path: &Path, archive: impl Write) -> io::Result<()> {
    let mut builder = tar::Builder::new(io::BufWriter::new(archive));
    builder.follow_symlinks(false);
    let name = path.file_name().unwrap_or(OsStr::new("."));
    if fs::symlink_metadata(path)?.is_dir() {
        builder.append_dir_all(name, path)?;
    } else {
        builder.append_path_with_name(path, name)?;
    }
    builder.into_inner()?.flush()
}

/// Archive of the files that were written in a sandbox.
pub struct WrittenFilesArchive<W: Write> {
    builder: tar::Builder<io::BufWriter<W>>,
    /// Archived path of each inode with several hard links. Its content is archived once: otherwise a small disk in the
    /// sandbox could fill the disk of the host.
    linked: HashMap<u64, PathBuf>,
}

impl<W: Write> WrittenFilesArchive<W> {
    /// Starts an empty archive.
    pub fn new(archive: W) -> Self {
        let mut builder = tar::Builder::new(io::BufWriter::new(archive));
        builder.follow_symlinks(false);
        Self { builder, linked: HashMap::new() }
    }

    /// Adds a file, a link, or a directory without its entries. `name` is its path in the sandbox, relative to the root.
    pub fn add(&mut self, path: &Path, name: &Path) -> io::Result<()> {
        let metadata = fs::symlink_metadata(path)?;
        let has_names = metadata.is_file() && metadata.nlink() > 1;
        let first_name = if has_names { self.linked.get(&metadata.ino()) } else { None };
        if let Some(first_name) = first_name {
            let mut header = tar::Header::new_gnu();
            header.set_metadata(&metadata);
            header.set_entry_type(tar::EntryType::Link);
            header.set_size(0);
            return self.builder.append_link(&mut header, name, first_name);
        }
        if has_names {
            self.linked.insert(metadata.ino(), name.to_owned());
        }
        if metadata.is_file() {
            // Opened first: the archive records the mode of the opened file, after its permissions were restored.
            return self.builder.append_file(name, &mut with_rights(path, || File::open(path))?);
        }
        self.builder.append_path_with_name(path, name)
    }

    /// Writes the end of the archive.
    pub fn finish(self) -> io::Result<()> {
        self.builder.into_inner()?.flush()
    }
}

/// Performs an action on a file or directory whose permissions may deny it even to the owner, which is the user of this
/// process: they are widened for the action and restored afterwards. A program cannot hide what it wrote by a chmod.
pub fn with_rights<T>(path: &Path, mut action: impl FnMut() -> io::Result<T>) -> io::Result<T> {
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

/// Removes a file, or a directory with its entries. A missing path is not an error.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
