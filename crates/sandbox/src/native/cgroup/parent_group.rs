//! Selection of the parent group for ours in the unified hierarchy of cgroup v2.
//!
//! A v2 group that enables controllers for its children may have no processes itself, except the root. Our own group
//! contains at least this process, so the parent is usually an ancestor that was delegated to us. No processes are moved
//! to make room: those in an ancestor are not all ours.

use std::path::{Path, PathBuf};

use menace_model::sandbox::ResourceController;

use super::discover::{CONTROLLERS, may_write};
use super::files;

/// Candidate for the parent of our groups.
#[derive(Debug)]
pub(super) struct ParentCgroupCandidate {
    pub(super) directory: PathBuf,
    /// Controllers that its children can have.
    pub(super) enable: Vec<&'static str>,
    /// Controllers that it has itself, as the kernel lists them.
    there: String,
    /// Reason why it cannot enable all of these for its children.
    obstacle: Option<String>,
}

/// The nearest of our own group and its ancestors that offers the most controllers.
pub(super) fn best_parent(own: &Path, mount_point: &Path) -> Result<ParentCgroupCandidate, String> {
    let mut best = parent_candidate(own);
    for directory in own.ancestors().skip(1).take_while(|directory| directory.starts_with(mount_point)) {
        best = match (best, parent_candidate(directory)) {
            (Ok(near), Ok(far)) if far.enable.len() > near.enable.len() => Ok(far),
            (Err(_), Ok(far)) => Ok(far),
            // The problem of our own group is more informative than that of the root.
            (near, _) => near,
        };
    }
    best
}

impl ParentCgroupCandidate {
    /// Checks whether child groups can have a controller; the error is the reason why not.
    pub(super) fn offers(&self, controller: ResourceController) -> Result<(), String> {
        let Some(name) = v2_name(controller) else { return Ok(()) };
        match &self.obstacle {
            _ if self.enable.contains(&name) => Ok(()),
            Some(obstacle) if lists(&self.there, name) => Err(obstacle.clone()),
            _ => Err(format!("{} does not have the {name} controller", self.directory.display())),
        }
    }
}

/// Name of a controller in v2; CPU accounting and freezing are in every group and need none.
pub(super) fn v2_name(controller: ResourceController) -> Option<&'static str> {
    match controller {
        ResourceController::Memory => Some("memory"),
        ResourceController::Cpu => Some("cpu"),
        ResourceController::Pids => Some("pids"),
        ResourceController::Io => Some("io"),
        ResourceController::CpuAccounting | ResourceController::Freezer => None,
    }
}

fn parent_candidate(directory: &Path) -> Result<ParentCgroupCandidate, String> {
    let text = |file: &str| files::read(&directory.join(file)).map_err(|error| error.to_string());
    may_write(directory)?;
    // Moving a process between groups requires write permission to this file in their common ancestor.
    may_write(&directory.join("cgroup.procs"))?;
    let kind = files::read_if_there(&directory.join("cgroup.type")).map_err(|error| error.to_string())?;
    if let Some(kind) = kind.as_deref().map(str::trim).filter(|kind| *kind != "domain") {
        return Err(format!("{} is of type {kind}, which accepts only threads", directory.display()));
    }
    let (there, enabled) = (text("cgroup.controllers")?, text("cgroup.subtree_control")?);
    // Only the root has no type, and only the root may have processes beside groups with controllers.
    let obstacle = match kind {
        Some(_) if !text("cgroup.procs")?.trim().is_empty() => {
            Some(format!("{} has processes of its own, so it cannot enable controllers", directory.display()))
        }
        _ => may_write(&directory.join("cgroup.subtree_control")).err(),
    };
    let usable = |name: &&str| lists(&enabled, name) || (obstacle.is_none() && lists(&there, name));
    let enable = CONTROLLERS.into_iter().filter_map(v2_name).filter(usable).collect();
    Ok(ParentCgroupCandidate { directory: directory.to_owned(), enable, there, obstacle })
}

fn lists(controllers: &str, name: &str) -> bool {
    controllers.split_whitespace().any(|other| other == name)
}
