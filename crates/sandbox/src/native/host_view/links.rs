//! Follows symlinks to programs elsewhere.
//!
//! `pipx`, `uv tool`, `mise` and administrators put links into a directory on `PATH` and the programs somewhere else:
//! `~/.local/bin/black` → `~/.local/share/pipx/venvs/black/bin/black`.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::installation::{LooseDirectoryRule, show_installation};
use super::plan::HostViewPlan;
use super::tree::{SymlinkLookup, may_be_link};

/// Maximum number of followed links per directory: each of them may cost a mount.
const MAXIMUM_FOLLOWED: usize = 32;
/// Names that are followed before all others.
const INTERPRETERS: [&str; 11] =
    ["python3", "python", "pip", "uv", "node", "npm", "npx", "ruby", "go", "java", "perl"];

/// Shows the targets of the links in a directory.
pub(super) fn show_links_in(plan: &mut HostViewPlan, directory: &Path) {
    let mut names = plan.tree.list(directory, |_, kind| may_be_link(kind));
    // The directory order depends on hashes; the view must not depend on it.
    names.sort_by_cached_key(|(name, _)| (!INTERPRETERS.iter().any(|known| name == known), name.clone()));
    let mut followed = 0;
    for (name, _) in names {
        let SymlinkLookup::Link(to) = plan.tree.link(&directory.join(&name)) else { continue };
        // The target of a link to a neighbour is visible already, or is a link that is handled itself.
        if to.components().count() == 1 {
            continue;
        }
        show_program(plan, directory, Path::new(&name));
        followed += 1;
        if followed == MAXIMUM_FOLLOWED {
            return;
        }
    }
}

/// Shows a program, given relative to a directory without links in its path, with its installation and those of the
/// links on the way: a link in a virtual environment is what makes Python use it. A program outside of any
/// installation is shown alone, not with its directory, whose content is unknown.
pub(super) fn show_program(plan: &mut HostViewPlan, directory: &Path, name: &Path) {
    let Some(resolved) = plan.tree.resolve_in(directory, name) else { return };
    let ways = resolved.links.iter().map(|link| &link.at).chain([&resolved.path]);
    let directories: Vec<PathBuf> = ways.filter_map(|way| way.parent()).map(Path::to_path_buf).collect();
    for directory in directories {
        show_installation(plan, &directory, LooseDirectoryRule::Hidden);
    }
    if !plan.shows(&resolved.path) && is_program(plan, &resolved.path) {
        plan.bind(&resolved.path);
    }
    if plan.shows(&resolved.path) {
        plan.show_links(&resolved.links);
    }
}

fn is_program(plan: &HostViewPlan, path: &Path) -> bool {
    plan.tree
        .status(path)
        .is_some_and(|status| status.kind == FileType::RegularFile && status.mode & 0o111 != 0)
}
