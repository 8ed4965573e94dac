//! The directories in which a distribution keeps its programs and libraries.

use std::path::Path;

use rustix::fs::FileType;

use super::plan::Plan;
use super::tree::Link;

/// All of them are public: they hold what packages brought. `/opt` is for packages as well.
pub(super) const SYSTEM_DIRECTORIES: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"];

/// Where programs are found when `PATH` does not say.
pub(super) const STANDARD_PATH: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Shows the system directories that are there.
pub(super) fn show_system_directories(plan: &mut Plan) {
    for directory in SYSTEM_DIRECTORIES {
        show_around_homes(plan, Path::new(directory));
    }
}

/// Shows a path; but where the home of the caller is in it, as in containers with `/opt/app` for a home, shows what is
/// beside the home instead.
fn show_around_homes(plan: &mut Plan, path: &Path) {
    let Some(status) = plan.tree.status(path) else { return };
    if status.kind == FileType::Symlink {
        return show_link(plan, path);
    }
    if plan.privacy.homes_within(path).next().is_none() {
        return plan.bind_public(path, path);
    }
    if plan.privacy.homes_within(path).all(|home| home != path) {
        for name in plan.tree.names_in(path, usize::MAX) {
            show_around_homes(plan, &path.join(name));
        }
    }
}

/// On a merged-usr host `/bin` is a link to `usr/bin`, and inside it is the same link. Where it leads to a place that
/// is not visible, what is there takes the place of the link.
fn show_link(plan: &mut Plan, path: &Path) {
    let Some(resolved) = plan.tree.resolve(path) else { return };
    if plan.privacy.homes_within(&resolved.path).next().is_some() {
        return;
    }
    if plan.shows(&resolved.path) {
        for Link { at, to } in resolved.links {
            plan.link(Link { at, to });
        }
    } else {
        plan.bind_public(&resolved.path, path);
    }
}
