//! System directories: programs and libraries of the distribution.

use std::path::Path;

use super::plan::HostViewPlan;
use super::tree::SymlinkLookup;

/// System directories. All are public: they hold the content of packages, `/opt` as well.
pub(super) const SYSTEM_DIRECTORIES: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"];

/// Default search path.
pub(super) const STANDARD_PATH: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Whether a directory is one of the standard ones on `PATH`.
pub(super) fn is_standard(directory: &Path) -> bool {
    STANDARD_PATH.iter().any(|standard| directory.as_os_str() == *standard)
}

/// Shows the system directories that exist.
pub(super) fn show_system_directories(plan: &mut HostViewPlan) {
    for directory in SYSTEM_DIRECTORIES {
        show_around_homes(plan, Path::new(directory));
    }
}

/// Shows a path; if the home of the caller is in it, as in containers with `/opt/app` as home, shows the neighbours
/// of the home instead.
fn show_around_homes(plan: &mut HostViewPlan, path: &Path) {
    match plan.tree.link(path) {
        SymlinkLookup::Nothing => return,
        SymlinkLookup::Link(_) => return show_link(plan, path),
        SymlinkLookup::Plain => {}
    }
    if plan.privacy.homes_within(path).next().is_none() {
        return plan.bind_public(path, path);
    }
    if plan.privacy.homes_within(path).all(|home| home.as_os_str() != path.as_os_str()) {
        for (name, _) in plan.tree.list(path, |_, _| true) {
            show_around_homes(plan, &path.join(name));
        }
    }
}

/// Shows a link. On a merged-usr host `/bin` is a link to `usr/bin`, and inside it is the same link. If its target is
/// not visible, the target is bound at the path of the link.
fn show_link(plan: &mut HostViewPlan, path: &Path) {
    let Some(resolved) = plan.tree.resolve(path) else { return };
    if plan.shows(&resolved.path) {
        for link in resolved.links {
            plan.link(link);
        }
    } else if plan.privacy.may_show(&resolved.path) {
        plan.bind_public(&resolved.path, path);
    }
}
