//! Puts the view together.

use std::path::Path;

use super::Host;
use super::etc::show_etc;
use super::identity::write_identity;
use super::links::show_program;
use menace_enter::root::Entry;

use super::plan::{HostView, Plan};
use super::search_path::show_search_path;
use super::system::show_system_directories;

/// What of the host is visible inside a sandbox by default.
pub(crate) fn host_view(host: &Host) -> HostView {
    let mut plan = Plan::new(host);
    show_system_directories(&mut plan);
    show_etc(&mut plan);
    write_identity(&mut plan, host);
    let path = show_search_path(&mut plan, &host.path);
    plan.finish(path)
}

/// What a program given by its absolute path needs beside a view, for `--python`: nothing if the view has it already,
/// if there is no such program, or if it must not be shown. The launcher carries it out after the view.
pub(crate) fn toolchain_of(program: &Path, host: &Host, view: &HostView) -> Vec<Entry> {
    let mut plan = Plan::continued(host, view);
    if program.is_absolute() {
        show_program(&mut plan, Path::new("/"), program);
    }
    plan.finish_addition(view)
}
