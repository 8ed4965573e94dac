//! Assembly of the view.

use std::path::Path;

use super::HostDescription;
use super::etc::show_etc;
use super::identity::write_identity;
use super::links::show_program;
use menace_isolation::root::SkeletonEntry;

use super::plan::{HostView, HostViewPlan};
use super::search_path::show_search_path;
use super::system::show_system_directories;

/// Default view of the host's files inside a sandbox.
pub(crate) fn host_view(host: &HostDescription) -> HostView {
    let mut plan = HostViewPlan::new(host);
    show_system_directories(&mut plan);
    show_etc(&mut plan);
    write_identity(&mut plan, host);
    let path = show_search_path(&mut plan, &host.path);
    plan.finish(path)
}

/// Entries that a program given by its absolute path needs beside a view, for `--python`: none if the view has it
/// already, if there is no such program, or if it must not be shown. The launcher applies them after the view.
pub(crate) fn toolchain_of(program: &Path, host: &HostDescription, view: &HostView) -> Vec<SkeletonEntry> {
    let mut plan = HostViewPlan::continued(host, view);
    if program.is_absolute() {
        show_program(&mut plan, Path::new("/"), program);
    }
    plan.finish_addition(view)
}
