//! Finds the toolchains on `PATH`, and computes `PATH` for the sandbox.

use std::env;
use std::ffi::OsStr;
use std::path::{Component, Path};

use super::installation::{LooseDirectoryRule, show_installation};
use super::links::show_links_in;
use super::plan::HostViewPlan;
use super::system::{STANDARD_PATH, is_standard};

/// Shows the toolchains on `PATH` and returns the `PATH` for inside: the visible directories in their order, then the
/// standard ones.
pub(super) fn show_search_path(plan: &mut HostViewPlan, path: &OsStr) -> String {
    let mut inside: Vec<String> = Vec::new();
    for named in env::split_paths(path).filter(|named| named.is_absolute()) {
        let is_known = named.to_str().is_some_and(|named| inside.iter().any(|directory| directory == named));
        if !is_known && let Some(directory) = show_directory(plan, &named) {
            add(&mut inside, directory);
        }
    }
    for directory in STANDARD_PATH {
        add(&mut inside, directory.to_owned());
    }
    inside.join(":")
}

/// Shows a directory on `PATH` with its installation. Returns its name inside if it is visible.
fn show_directory(plan: &mut HostViewPlan, named: &Path) -> Option<String> {
    let resolved = plan.tree.resolve(named)?;
    let directory = resolved.path;
    if !is_standard(&directory) && !plan.tree.is_directory(&directory) {
        return None;
    }
    // Users and tools put links to programs elsewhere into such directories. An installation contains the targets of
    // its links.
    let is_alone = show_installation(plan, &directory, LooseDirectoryRule::Shown);
    if is_alone || directory.as_os_str() == "/usr/local/bin" || directory.ends_with("mise/shims") {
        show_links_in(plan, &directory);
    }
    if !plan.shows(&directory) || !plan.show_links(&resolved.links) {
        return None;
    }
    // A path with `..` may go through directories that are not visible.
    let is_plain = named.components().all(|component| component != Component::ParentDir);
    let inside = if is_plain { named.components().collect() } else { directory };
    inside.into_os_string().into_string().ok()
}

fn add(directories: &mut Vec<String>, directory: String) {
    if !directories.contains(&directory) {
        directories.push(directory);
    }
}
