//! Parent of all groups of one menace process, in every hierarchy that one of them needs.
//!
//! A directory costs 30 to 60 µs, so there is one for each distinct hierarchy that is needed and no other.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use menace_model::sandbox::{ResourceController, SandboxLimits};

use super::discover::{CONTROLLERS, CgroupHierarchies, CgroupVersion, ControllerAvailability, v1_name};
use super::error::CgroupError;
#[cfg(test)]
use super::group::PATIENCE;
use super::group::{CgroupDirectory, ControlGroup, lock, remove_directory};
use super::{files, limits};

/// Prefix of all our directories, which distinguishes them from other groups.
pub(super) const PREFIX: &str = "menace-";

/// Parent of all groups of this process. It is removed with the last of them.
#[derive(Debug, Clone)]
pub(crate) struct OwnerCgroup(Arc<CgroupOwner>);

/// Shared state of an owner and its groups.
#[derive(Debug)]
pub(super) struct CgroupOwner {
    pub(super) hierarchies: CgroupHierarchies,
    directory_name: String,
    /// Directory in each hierarchy, once it was needed.
    made: Mutex<Vec<Option<PathBuf>>>,
    /// Registry entry of these groups, kept for as long as one of them exists.
    record: Option<Arc<dyn CgroupRecord>>,
}

/// Record of the groups' existence, so that a later process can remove them.
pub(crate) trait CgroupRecord: std::fmt::Debug + Send + Sync {
    /// Keeps the record, because some groups could not be removed.
    fn keep(&self);
}

impl CgroupHierarchies {
    /// Parent of the groups of this process, `menace-<name>`. The name must be unique to this process: its id and start
    /// time. Nothing is created before the first group.
    pub(crate) fn owner_group(
        &self,
        name: &str,
        record: Option<Arc<dyn CgroupRecord>>,
    ) -> Result<OwnerCgroup, CgroupError> {
        Ok(OwnerCgroup(Arc::new(CgroupOwner {
            hierarchies: self.clone(),
            directory_name: owner_directory(name)?,
            made: Mutex::new(vec![None; self.usable.len()]),
            record,
        })))
    }
}

impl OwnerCgroup {
    /// Creates a group with the limits. The controllers in `needs` are added for accounting; like limits they must be
    /// available. With a freezer among them, pausing does not have to move processes.
    pub(crate) fn create(
        &self,
        id: &str,
        limits: &SandboxLimits,
        needs: &[ResourceController],
    ) -> Result<ControlGroup, CgroupError> {
        check_name(id)?;
        let controllers = self.0.controllers_for(limits, needs)?;
        let mut group = ControlGroup::empty(Arc::clone(&self.0), id);
        for (controller, hierarchy) in controllers {
            // An error drops the group, which removes the directories before this one.
            if group.directory_in(hierarchy).is_none() {
                let directory = self.0.make_group(hierarchy, id)?;
                group.directories.push(directory);
            }
            let directory = group.directory_in(hierarchy).expect("the directory was created above");
            limits::write(controller, directory.version, &directory.path, limits)?;
        }
        group.open_for_clone()?;
        Ok(group)
    }

    /// Removes the parent directories, as dropping does, and returns errors. All groups must have been removed before.
    #[cfg(test)]
    pub(crate) fn remove(&self) -> Result<(), CgroupError> {
        let mut made = lock(&self.0.made);
        for directory in made.iter_mut() {
            if let Some(path) = directory {
                remove_directory(path, PATIENCE)?;
            }
            *directory = None;
        }
        Ok(())
    }
}

impl CgroupOwner {
    /// Controllers that a group needs, each with its hierarchy. One of them must be able to stop forks during a kill,
    /// or a fast enough fork bomb could not be killed.
    fn controllers_for(
        &self,
        limits: &SandboxLimits,
        needs: &[ResourceController],
    ) -> Result<Vec<(ResourceController, usize)>, CgroupError> {
        let mut found = Vec::with_capacity(CONTROLLERS.len());
        for (controller, limit) in limits::needed_for(limits) {
            let hierarchy = self
                .hierarchy_of(controller)
                .map_err(|reason| CgroupError::LimitUnavailable { limit, reason: reason.to_owned() })?;
            found.push((controller, hierarchy));
        }
        for &controller in needs {
            let hierarchy =
                self.hierarchy_of(controller).map_err(|reason| CgroupError::ControllerUnavailable {
                    controller: v1_name(controller),
                    reason: reason.to_owned(),
                })?;
            found.push((controller, hierarchy));
        }
        if !found.iter().any(|(controller, hierarchy)| self.can_stop_forks(*controller, *hierarchy)) {
            found.push(self.any_that_stops_forks()?);
        }
        Ok(found)
    }

    fn can_stop_forks(&self, controller: ResourceController, hierarchy: usize) -> bool {
        self.hierarchies.usable[hierarchy].version == CgroupVersion::V2
            || matches!(controller, ResourceController::Pids | ResourceController::Freezer)
    }

    fn any_that_stops_forks(&self) -> Result<(ResourceController, usize), CgroupError> {
        let pids = self
            .hierarchy_of(ResourceController::Pids)
            .map(|hierarchy| (ResourceController::Pids, hierarchy));
        let freezer = self
            .hierarchy_of(ResourceController::Freezer)
            .map(|hierarchy| (ResourceController::Freezer, hierarchy));
        pids.or(freezer).map_err(|reason| CgroupError::NoHierarchy { reason: reason.to_owned() })
    }

    pub(super) fn hierarchy_of(&self, controller: ResourceController) -> Result<usize, &str> {
        match self.hierarchies.availability(controller) {
            ControllerAvailability::Available { hierarchy, .. } => Ok(*hierarchy),
            ControllerAvailability::Unavailable { reason, .. } => Err(reason),
        }
    }

    /// Creates the directory of a group in one hierarchy, and the parent before it if it is the first.
    pub(super) fn make_group(&self, hierarchy: usize, id: &str) -> Result<CgroupDirectory, CgroupError> {
        let path = self.parent(hierarchy)?.join(id);
        fs::create_dir(&path).map_err(|source| CgroupError::Create { path: path.clone(), source })?;
        Ok(CgroupDirectory { hierarchy, version: self.hierarchies.usable[hierarchy].version, path })
    }

    fn parent(&self, hierarchy: usize) -> Result<PathBuf, CgroupError> {
        let mut made = lock(&self.made);
        if let Some(path) = &made[hierarchy] {
            return Ok(path.clone());
        }
        let usable = &self.hierarchies.usable[hierarchy];
        enable(&usable.base, &usable.enable)?;
        let path = usable.base.join(&self.directory_name);
        fs::create_dir(&path).map_err(|source| CgroupError::Create { path: path.clone(), source })?;
        made[hierarchy] = Some(path.clone());
        enable(&path, &usable.enable)?;
        Ok(path)
    }
}

impl Drop for CgroupOwner {
    fn drop(&mut self) {
        for path in lock(&self.made).iter().flatten() {
            if let Err(error) = remove_directory(path, Duration::ZERO) {
                tracing::warn!("{error}");
                if let Some(record) = &self.record {
                    record.keep();
                }
            }
        }
    }
}

/// Directory name of an owner.
pub(super) fn owner_directory(name: &str) -> Result<String, CgroupError> {
    check_name(name)?;
    Ok(format!("{PREFIX}{name}"))
}

fn check_name(name: &str) -> Result<(), CgroupError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.starts_with('.') || !name.bytes().all(allowed) {
        return Err(CgroupError::Name { name: name.to_owned() });
    }
    Ok(())
}

/// Enables controllers of a v2 group for its children.
fn enable(directory: &Path, controllers: &[&'static str]) -> Result<(), CgroupError> {
    if controllers.is_empty() {
        return Ok(());
    }
    let path = directory.join("cgroup.subtree_control");
    let enabled = files::read(&path)?;
    let missing: Vec<String> = controllers
        .iter()
        .filter(|name| !enabled.split_whitespace().any(|other| other == **name))
        .map(|name| format!("+{name}"))
        .collect();
    if missing.is_empty() { Ok(()) } else { files::write(&path, &missing.join(" ")) }
}
