//! Lists the files that were written in a sandbox. The kernel records the time of each change (ctime), and no program can
//! set it: so every file that was changed after the creation of the sandbox is known without a list of the original files.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use menace_guest::archive::{WrittenFilesArchive, add_permissions};
use menace_guest::protocol::{GuestReport, ListedFile, ListingRequest};

use crate::streams::{RequestOutput, report};

/// Entries in one report.
const ENTRIES_PER_REPORT: usize = 500;

/// Reports all entries of the directories to the host.
pub(crate) fn list(what: &ListingRequest) -> io::Result<()> {
    let mut found = Vec::new();
    visit_entries(what, &mut |one| {
        found.push(one);
        if found.len() < ENTRIES_PER_REPORT {
            return Ok(());
        }
        report(&GuestReport::Listed(std::mem::take(&mut found)))
    })?;
    report(&GuestReport::Listed(found))
}

/// Packs the files that were written, and all directories: an empty one may be new as well.
pub(crate) fn pack(what: &ListingRequest) -> io::Result<()> {
    let mut archive = WrittenFilesArchive::new(RequestOutput);
    visit_entries(what, &mut |one| {
        let path = Path::new(&one.path);
        let is_packed = one.is_directory || (one.is_written && can_be_packed(path)?);
        if is_packed { archive.add(path, path.strip_prefix("/").unwrap_or(path)) } else { Ok(()) }
    })?;
    archive.finish()
}

/// Whether a file is a regular file or a symbolic link: an archive cannot hold sockets and pipes.
fn can_be_packed(path: &Path) -> io::Result<bool> {
    let kind = fs::symlink_metadata(path)?.file_type();
    Ok(kind.is_file() || kind.is_symlink())
}

fn visit_entries(
    what: &ListingRequest,
    visit: &mut impl FnMut(ListedFile) -> io::Result<()>,
) -> io::Result<()> {
    for directory in &what.directories {
        walk(directory, what.after, visit)?;
    }
    for path in &what.paths {
        match fs::symlink_metadata(path) {
            Ok(metadata) if !metadata.is_dir() => visit(entry_of(path, &metadata, None))?,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Visits all entries below a directory, parents first, sorted by name. A directory without read permission for its owner
/// gets it for the duration of the walk: a program cannot hide what it wrote by a chmod.
fn walk(
    directory: &Path,
    after: Option<i128>,
    visit: &mut impl FnMut(ListedFile) -> io::Result<()>,
) -> io::Result<()> {
    let to_restore = match add_permissions(directory, 0o500) {
        // A missing directory has no entries.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        result => result?,
    };
    let result = walk_open(directory, after, visit);
    if let Some((path, before)) = to_restore {
        fs::set_permissions(path, before)?;
    }
    result
}

fn walk_open(
    directory: &Path,
    after: Option<i128>,
    visit: &mut impl FnMut(ListedFile) -> io::Result<()>,
) -> io::Result<()> {
    for (path, metadata) in sorted_entries(directory)? {
        visit(entry_of(&path, &metadata, after))?;
        if metadata.is_dir() {
            walk(&path, after, visit)?;
        }
    }
    Ok(())
}

fn sorted_entries(directory: &Path) -> io::Result<Vec<(PathBuf, Metadata)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        match fs::symlink_metadata(&path) {
            Ok(metadata) => entries.push((path, metadata)),
            // Removed between the two system calls.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}

fn entry_of(path: &Path, metadata: &Metadata, after: Option<i128>) -> ListedFile {
    let changed = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    ListedFile {
        path: path.as_os_str().to_owned(),
        is_directory: metadata.is_dir(),
        is_written: after.is_none_or(|moment| changed > moment),
    }
}
