//! Where groups can be made in the one hierarchy of cgroup v2.
//!
//! A v2 group that gives controllers to its children may have no processes itself, except the root. Our own group has
//! at least us, so the place for our groups is usually an ancestor that was delegated to us. Nothing is moved to make
//! room: the processes there are not all ours.

use std::path::{Path, PathBuf};

use menace_model::sandbox::Controller;

use super::discover::{CONTROLLERS, may_write};
use super::files;

/// A group in which ours can be made.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) directory: PathBuf,
    /// The controllers that its groups can have.
    pub(super) enable: Vec<&'static str>,
    /// The controllers that it has itself, as the kernel lists them.
    there: String,
    /// Why it cannot give all of these to its groups.
    obstacle: Option<String>,
}

/// The nearest of our own group and its ancestors that gives us the most controllers.
pub(super) fn best_place(own: &Path, mount_point: &Path) -> Result<Place, String> {
    let mut best = place(own);
    for directory in own.ancestors().skip(1).take_while(|directory| directory.starts_with(mount_point)) {
        best = match (best, place(directory)) {
            (Ok(near), Ok(far)) if far.enable.len() > near.enable.len() => Ok(far),
            (Err(_), Ok(far)) => Ok(far),
            // What is wrong with our own group says more than what is wrong with the root.
            (near, _) => near,
        };
    }
    best
}

impl Place {
    /// Whether groups here have a controller; else why not.
    pub(super) fn offers(&self, controller: Controller) -> Result<(), String> {
        let Some(name) = v2_name(controller) else { return Ok(()) };
        match &self.obstacle {
            _ if self.enable.contains(&name) => Ok(()),
            Some(obstacle) if lists(&self.there, name) => Err(obstacle.clone()),
            _ => Err(format!("{} does not have the {name} controller", self.directory.display())),
        }
    }
}

/// How v2 calls a controller; CPU time and freezing are in every group and need none.
pub(super) fn v2_name(controller: Controller) -> Option<&'static str> {
    match controller {
        Controller::Memory => Some("memory"),
        Controller::Cpu => Some("cpu"),
        Controller::Pids => Some("pids"),
        Controller::Io => Some("io"),
        Controller::CpuAccounting | Controller::Freezer => None,
    }
}

fn place(directory: &Path) -> Result<Place, String> {
    let text = |file: &str| files::read(&directory.join(file)).map_err(|error| error.to_string());
    may_write(directory)?;
    // Whoever brings a process from one group into another must be allowed to write here in their common ancestor.
    may_write(&directory.join("cgroup.procs"))?;
    let kind = files::read_if_there(&directory.join("cgroup.type")).map_err(|error| error.to_string())?;
    if let Some(kind) = kind.as_deref().map(str::trim).filter(|kind| *kind != "domain") {
        return Err(format!("{} is of type {kind}, where only threads can be", directory.display()));
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
    Ok(Place { directory: directory.to_owned(), enable, there, obstacle })
}

fn lists(controllers: &str, name: &str) -> bool {
    controllers.split_whitespace().any(|other| other == name)
}
