//! Follows symlinks to programs that are elsewhere.
//!
//! `pipx`, `uv tool`, `mise` and administrators put links into a directory on `PATH` and the programs somewhere else:
//! `~/.local/bin/black` → `~/.local/share/pipx/venvs/black/bin/black`.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::installation::{Loose, show_installation};
use super::plan::Plan;
use super::tree::{Found, may_be_link};

/// Links of a directory that are followed: each of them may cost a mount.
const MAXIMUM_FOLLOWED: usize = 32;
/// These are followed before all others.
const INTERPRETERS: [&str; 11] =
    ["python3", "python", "pip", "uv", "node", "npm", "npx", "ruby", "go", "java", "perl"];

/// Shows what the links in a directory lead to.
pub(super) fn show_links_in(plan: &mut Plan, directory: &Path) {
    let mut names = plan.tree.list(directory, |_, kind| may_be_link(kind));
    // The order of a directory is that of its hashes; a view must not depend on it.
    names.sort_by_cached_key(|(name, _)| (!INTERPRETERS.iter().any(|known| name == known), name.clone()));
    let mut followed = 0;
    for (name, _) in names {
        let Found::Link(to) = plan.tree.link(&directory.join(&name)) else { continue };
        // What a link to a neighbour leads to is there already, or the neighbour is a link and has its own turn.
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

/// Shows a program, given relative to a directory without links in its path, with the installation that it is part of
/// and those of the links on the way: a link in a virtual environment is what makes Python use it. A program that is
/// part of no installation is shown alone, not with its directory, which may be anything.
pub(super) fn show_program(plan: &mut Plan, directory: &Path, name: &Path) {
    let Some(resolved) = plan.tree.resolve_in(directory, name) else { return };
    let ways = resolved.links.iter().map(|link| &link.at).chain([&resolved.path]);
    let directories: Vec<PathBuf> = ways.filter_map(|way| way.parent()).map(Path::to_path_buf).collect();
    for directory in directories {
        show_installation(plan, &directory, Loose::Hidden);
    }
    if !plan.shows(&resolved.path) && is_program(plan, &resolved.path) {
        plan.bind(&resolved.path);
    }
    if plan.shows(&resolved.path) {
        plan.show_links(&resolved.links);
    }
}

fn is_program(plan: &Plan, path: &Path) -> bool {
    plan.tree
        .status(path)
        .is_some_and(|status| status.kind == FileType::RegularFile && status.mode & 0o111 != 0)
}
