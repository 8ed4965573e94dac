//! One overlay: a directory that contains menace's marker file.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Marker file of directories that menace created.
const MARKER: &str = ".menace-overlay";

/// Creates an overlay directory, which must not exist yet.
pub(super) fn make(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir(path)?;
    fs::write(path.join(MARKER), "made by menace for a virtual machine\n")
}

/// Whether a path is an overlay of menace: a direct child of the overlay directory, with a marker. No link is followed.
pub(super) fn is_ours(path: &Path, directory: &Path) -> bool {
    let is =
        |path: &Path, kind: fn(&Metadata) -> bool| fs::symlink_metadata(path).is_ok_and(|found| kind(&found));
    path.parent() == Some(directory)
        && is(path, Metadata::is_dir)
        && is(&path.join(MARKER), Metadata::is_file)
}

/// All overlays with their ages, the oldest first.
pub(super) fn all(directory: &Path) -> io::Result<Vec<(PathBuf, Duration)>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if is_ours(&path, directory) {
            let made = fs::symlink_metadata(path.join(MARKER))?.modified()?;
            found.push((path, SystemTime::now().duration_since(made).unwrap_or_default()));
        }
    }
    found.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    Ok(found)
}

/// Removes an overlay. The marker goes last, so that a partly removed overlay is still recognised.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let marker = path.join(MARKER);
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.path() == marker {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(marker)?;
    fs::remove_dir(path)
}
