//! Follows `PATH` to the toolchains, and says what `PATH` is inside.

use std::env;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::installation::{Loose, show_installation};
use super::links::{show_links_in, show_program};
use super::plan::Plan;
use super::system::STANDARD_PATH;

/// Programs whose links are followed from every directory on `PATH`, also from one that is visible: an administrator
/// may have linked `/usr/local/bin/python3` to an installation elsewhere.
const INTERPRETERS: [&str; 12] =
    ["python3", "python", "pip", "uv", "node", "npm", "npx", "ruby", "go", "java", "perl", "bash"];

/// Shows the toolchains on `PATH` and returns the `PATH` for inside: the directories that are visible, in their order,
/// and then the standard ones.
pub(super) fn show_search_path(plan: &mut Plan, path: &OsStr) -> String {
    let mut inside: Vec<String> = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut sought = INTERPRETERS.to_vec();
    for named in env::split_paths(path).filter(|named| named.is_absolute()) {
        if seen.contains(&named) {
            continue;
        }
        if let Some(directory) = show_directory(plan, &named, &mut sought) {
            add(&mut inside, directory);
        }
        seen.push(named);
    }
    for directory in STANDARD_PATH {
        add(&mut inside, directory.to_owned());
    }
    inside.join(":")
}

/// Shows a directory on `PATH` with what belongs to it. Returns what to call it inside if it is visible.
fn show_directory(plan: &mut Plan, named: &Path, sought: &mut Vec<&str>) -> Option<String> {
    let resolved = plan.tree.resolve(named)?;
    let directory = resolved.path;
    if !plan.tree.is_directory(&directory) {
        return None;
    }
    if !STANDARD_PATH.iter().any(|standard| directory == Path::new(standard)) {
        let was_visible = plan.shows(&directory);
        show_installation(plan, &directory, Loose::Shown);
        // An installation has what its links lead to; a directory alone does not.
        let is_alone = plan.shows(&directory) && !directory.parent().is_some_and(|parent| plan.shows(parent));
        if !was_visible && is_alone {
            show_links_in(plan, &directory);
        }
    }
    show_interpreters(plan, &directory, sought);
    if !plan.shows(&directory) || !plan.show_links(&resolved.links) {
        return None;
    }
    // A name with `..` may go through directories that are not visible.
    let is_plain = named.components().all(|component| component != Component::ParentDir);
    let inside = if is_plain { named.components().collect() } else { directory };
    inside.into_os_string().into_string().ok()
}

/// Follows the interpreters that are links here. Only the first of a name on `PATH` is ever called.
fn show_interpreters(plan: &mut Plan, directory: &Path, sought: &mut Vec<&str>) {
    if !plan.shows(directory) {
        return;
    }
    sought.retain(|name| match plan.tree.link(&directory.join(name)) {
        None => true,
        Some(None) => false,
        Some(Some(_)) => {
            show_program(plan, directory, Path::new(name));
            false
        }
    });
}

fn add(directories: &mut Vec<String>, directory: String) {
    if !directories.contains(&directory) {
        directories.push(directory);
    }
}
