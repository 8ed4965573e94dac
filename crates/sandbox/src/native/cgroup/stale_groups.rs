//! Clean-up of the stale groups of a killed predecessor, with their processes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::discover::CgroupHierarchies;
use super::error::CgroupError;
use super::group::{CgroupDirectory, PATIENCE, remove_directory};
use super::kill;
use super::owner::owner_directory;

impl CgroupHierarchies {
    /// Kills all processes in the groups of an owner, removes its directories in every hierarchy, and returns the
    /// number of directories. The caller has checked that the owner is dead.
    ///
    /// Each hierarchy is searched completely for the name, because the predecessor may have been started in another
    /// group than this process.
    pub(crate) fn remove_stale_groups(&self, owner_name: &str) -> Result<usize, CgroupError> {
        let name = owner_directory(owner_name)?;
        let mut owners = Vec::new();
        let mut groups: BTreeMap<String, Vec<CgroupDirectory>> = BTreeMap::new();
        for (hierarchy, (version, point)) in self.mount_points.iter().enumerate() {
            for owner in find(point, &name)? {
                for group in directories_in(&owner)? {
                    let id = group.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    groups.entry(id).or_default().push(CgroupDirectory {
                        hierarchy,
                        version: *version,
                        path: group,
                    });
                }
                owners.push(owner);
            }
        }
        // One group that cannot be removed is no reason to leave the others.
        let mut result = Ok(());
        for directories in groups.values() {
            result = result.and(kill::kill_all(directories, PATIENCE));
        }
        let groups = groups.into_values().flatten().map(|directory| directory.path);
        let all: Vec<PathBuf> = groups.chain(owners).collect();
        for path in &all {
            result = result.and(remove_directory(path, PATIENCE));
        }
        result.map(|()| all.len())
    }
}

/// All directories with a name in a tree, without descending into them.
fn find(directory: &Path, name: &str) -> Result<Vec<PathBuf>, CgroupError> {
    let mut found = Vec::new();
    let mut unseen = vec![directory.to_owned()];
    while let Some(directory) = unseen.pop() {
        for inside in directories_in(&directory)? {
            if inside.file_name().is_some_and(|other| other == name) {
                found.push(inside);
            } else {
                unseen.push(inside);
            }
        }
    }
    Ok(found)
}

/// Subdirectories. Groups that vanish meanwhile or are unreadable are skipped; neither can be one that we created.
fn directories_in(directory: &Path) -> Result<Vec<PathBuf>, CgroupError> {
    let skip = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
            || kill::is_gone(error)
    };
    let entries = match fs::read_dir(directory) {
        Err(error) if skip(&error) => return Ok(Vec::new()),
        other => other.map_err(CgroupError::read(directory))?,
    };
    let mut directories = Vec::new();
    for entry in entries {
        let entry = match entry {
            Err(error) if skip(&error) => break,
            other => other.map_err(CgroupError::read(directory))?,
        };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            directories.push(entry.path());
        }
    }
    Ok(directories)
}
