//! What was written in a sandbox. The kernel writes down when it changed something, and no program can choose that time:
//! so whatever was changed after the sandbox was made is known without having kept a list of what was there.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use menace_inside::archive::{Written, open_up};
use menace_inside::protocol::{Found, Listing, Report};

use crate::streams::{Output, report};

/// How many are told at once.
const AT_ONCE: usize = 500;

/// Tells the host everything that is in the directories.
pub(crate) fn list(what: &Listing) -> io::Result<()> {
    let mut found = Vec::new();
    each(what, &mut |one| {
        found.push(one);
        if found.len() < AT_ONCE {
            return Ok(());
        }
        report(&Report::Listed(std::mem::take(&mut found)))
    })?;
    report(&Report::Listed(found))
}

/// Packs what was written, and all directories: an empty one may be new as well.
pub(crate) fn pack(what: &Listing) -> io::Result<()> {
    let mut archive = Written::new(Output);
    each(what, &mut |one| {
        let path = Path::new(&one.path);
        let is_kept = one.is_directory || (one.is_written && can_be_packed(path)?);
        if is_kept { archive.add(path, path.strip_prefix("/").unwrap_or(path)) } else { Ok(()) }
    })?;
    archive.finish()
}

/// No archive keeps sockets and pipes.
fn can_be_packed(path: &Path) -> io::Result<bool> {
    let kind = fs::symlink_metadata(path)?.file_type();
    Ok(kind.is_file() || kind.is_symlink())
}

fn each(what: &Listing, tell: &mut impl FnMut(Found) -> io::Result<()>) -> io::Result<()> {
    for directory in &what.directories {
        walk(directory, what.after, tell)?;
    }
    for path in &what.paths {
        match fs::symlink_metadata(path) {
            Ok(metadata) if !metadata.is_dir() => tell(found(path, &metadata, None))?,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Everything below a directory, parents first, sorted by name. A directory that its owner has closed is open for as long
/// as that takes: what a program writes must be seen whatever it does.
fn walk(
    directory: &Path,
    after: Option<i128>,
    tell: &mut impl FnMut(Found) -> io::Result<()>,
) -> io::Result<()> {
    let closed = match open_up(directory, 0o500) {
        // A directory that is not there has nothing in it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        result => result?,
    };
    let walked = walk_open(directory, after, tell);
    if let Some((path, before)) = closed {
        fs::set_permissions(path, before)?;
    }
    walked
}

fn walk_open(
    directory: &Path,
    after: Option<i128>,
    tell: &mut impl FnMut(Found) -> io::Result<()>,
) -> io::Result<()> {
    for (path, metadata) in read(directory)? {
        tell(found(&path, &metadata, after))?;
        if metadata.is_dir() {
            walk(&path, after, tell)?;
        }
    }
    Ok(())
}

fn read(directory: &Path) -> io::Result<Vec<(PathBuf, Metadata)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        match fs::symlink_metadata(&path) {
            Ok(metadata) => entries.push((path, metadata)),
            // It went while we looked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}

fn found(path: &Path, metadata: &Metadata, after: Option<i128>) -> Found {
    let changed = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    Found {
        path: path.as_os_str().to_owned(),
        is_directory: metadata.is_dir(),
        is_written: after.is_none_or(|moment| changed > moment),
    }
}
