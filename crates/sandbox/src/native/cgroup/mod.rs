//! Control groups of sandboxes: limits, usage, and pausing, killing and removing all processes.

mod discover;
mod error;
mod files;
mod freeze;
mod group;
mod kill;
mod limits;
mod mounts;
mod owner;
mod parent_group;
mod stale_groups;
mod usage;

#[cfg(test)]
mod discover_tests;
#[cfg(test)]
mod group_tests;
#[cfg(test)]
mod measurements;
#[cfg(test)]
mod real_host;

#[cfg_attr(not(test), expect(unused_imports, reason = "some exports are used only by tests"))]
pub(crate) use self::{
    discover::{CgroupHierarchies, CgroupSources, CgroupVersion, ControllerAvailability},
    error::CgroupError,
    group::{ControlGroup, enter},
    owner::{CgroupRecord, OwnerCgroup},
};
