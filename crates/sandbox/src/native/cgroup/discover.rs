//! Discovery of the controllers that this process can use, done once before any group is created.
//!
//! A controller lives in exactly one hierarchy. If a v1 hierarchy has it, that one is used, and v2 otherwise. CPU
//! accounting and freezing are in every v2 group, so they are available even when v2 has no controller at all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_model::sandbox::ResourceController;
use rustix::fs::Access;

use super::error::CgroupError;
use super::files;
use super::mounts::{CgroupMount, CgroupMountKind, mounts, own_group};
use super::parent_group;

/// All controllers.
pub(super) const CONTROLLERS: [ResourceController; 6] = [
    ResourceController::Memory,
    ResourceController::Cpu,
    ResourceController::CpuAccounting,
    ResourceController::Pids,
    ResourceController::Io,
    ResourceController::Freezer,
];

/// Files in which the kernel describes control groups. Tests have their own.
#[derive(Debug, Clone)]
pub(crate) struct CgroupSources {
    /// `/proc/self/mountinfo`.
    pub(crate) mountinfo: PathBuf,
    /// `/proc/self/cgroup`.
    pub(crate) own_groups: PathBuf,
    /// Directory that mount points are relative to: `/`.
    pub(crate) mount_root: PathBuf,
}

impl CgroupSources {
    /// Files of this process.
    pub(crate) fn host() -> Self {
        Self {
            mountinfo: "/proc/self/mountinfo".into(),
            own_groups: "/proc/self/cgroup".into(),
            mount_root: "/".into(),
        }
    }
}

/// Cgroup version of a hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CgroupVersion {
    V1,
    V2,
}

/// Whether this process can use a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ControllerAvailability {
    Available {
        version: CgroupVersion,
        /// Index of the hierarchy; controllers that are mounted together have the same.
        hierarchy: usize,
    },
    Unavailable {
        reason: String,
        /// A mounted v1 hierarchy has the controller, so that the reason says why it cannot be used.
        in_v1: bool,
    },
}

/// Hierarchy in which this process can create groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupHierarchy {
    pub(super) version: CgroupVersion,
    /// Parent of our groups.
    pub(super) base: PathBuf,
    /// Controllers that have to be enabled from the base downwards; only v2 has this switch.
    pub(super) enable: Vec<&'static str>,
}

/// Result of the discovery. It does not change while the process lives.
#[derive(Debug, Clone)]
pub(crate) struct CgroupHierarchies {
    pub(super) usable: Vec<CgroupHierarchy>,
    /// All mount points, also those where we cannot create groups now: a predecessor may have used them.
    pub(super) mount_points: Vec<(CgroupVersion, PathBuf)>,
    controllers: BTreeMap<ResourceController, ControllerAvailability>,
}

impl CgroupHierarchies {
    /// Finds the hierarchies and checks permissions in them. Creates and changes nothing.
    pub(crate) fn discover(sources: &CgroupSources) -> Result<Self, CgroupError> {
        let own_groups = files::read(&sources.own_groups)?;
        let mut mounted = mounts(&files::read(&sources.mountinfo)?);
        for mount in &mut mounted {
            mount.point = sources.mount_root.join(mount.point.strip_prefix("/").unwrap_or(&mount.point));
        }
        let mut found = Self {
            usable: Vec::new(),
            mount_points: mounted.iter().map(|mount| (version_of(mount), mount.point.clone())).collect(),
            controllers: BTreeMap::new(),
        };
        for controller in CONTROLLERS {
            found.discover_v1(controller, &mounted, &own_groups);
        }
        found.discover_v2(&mounted, &own_groups);
        Ok(found)
    }

    /// Whether a controller can be used.
    pub(crate) fn availability(&self, controller: ResourceController) -> &ControllerAvailability {
        self.controllers.get(&controller).expect("discovery answers for every controller")
    }

    /// Whether a group may have a part in cgroup v2, into which processes are cloned.
    pub(crate) fn has_version_2(&self) -> bool {
        self.controllers.values().any(|availability| {
            matches!(availability, ControllerAvailability::Available { version: CgroupVersion::V2, .. })
        })
    }

    /// Usable controllers, each with `v1` or `v2`.
    pub(crate) fn controllers(&self) -> BTreeMap<ResourceController, String> {
        let name = |version: &CgroupVersion| match version {
            CgroupVersion::V1 => "v1".to_owned(),
            CgroupVersion::V2 => "v2".to_owned(),
        };
        self.controllers
            .iter()
            .filter_map(|(controller, availability)| match availability {
                ControllerAvailability::Available { version, .. } => Some((*controller, name(version))),
                ControllerAvailability::Unavailable { .. } => None,
            })
            .collect()
    }

    fn discover_v1(&mut self, controller: ResourceController, mounted: &[CgroupMount], own_groups: &str) {
        let name = v1_name(controller);
        let mut answer = ControllerAvailability::Unavailable {
            reason: format!("no mounted hierarchy has the {name} controller"),
            in_v1: false,
        };
        for mount in mounted {
            if !matches!(&mount.kind, CgroupMountKind::V1(has) if has.iter().any(|other| other == name)) {
                continue;
            }
            match own_directory(mount, own_groups).and_then(|base| may_write(&base).map(|()| base)) {
                Ok(base) => {
                    let hierarchy = self.add_hierarchy(CgroupHierarchy {
                        version: CgroupVersion::V1,
                        base,
                        enable: Vec::new(),
                    });
                    answer = ControllerAvailability::Available { version: CgroupVersion::V1, hierarchy };
                    break;
                }
                Err(reason) => answer = ControllerAvailability::Unavailable { reason, in_v1: true },
            }
        }
        self.controllers.insert(controller, answer);
    }

    /// Adds the controllers that v1 does not have.
    fn discover_v2(&mut self, mounted: &[CgroupMount], own_groups: &str) {
        let Some(mount) = mounted.iter().find(|mount| mount.kind == CgroupMountKind::V2) else { return };
        let parent =
            own_directory(mount, own_groups).and_then(|own| parent_group::best_parent(&own, &mount.point));
        let missing: Vec<ResourceController> = self
            .controllers
            .iter()
            .filter(|(_, availability)| matches!(availability, ControllerAvailability::Unavailable { .. }))
            .map(|(controller, _)| *controller)
            .collect();
        for controller in missing {
            let reason = match &parent {
                Ok(parent) => match parent.offers(controller) {
                    Ok(()) => {
                        let hierarchy = self.add_hierarchy(CgroupHierarchy {
                            version: CgroupVersion::V2,
                            base: parent.directory.clone(),
                            enable: parent.enable.clone(),
                        });
                        let available =
                            ControllerAvailability::Available { version: CgroupVersion::V2, hierarchy };
                        self.controllers.insert(controller, available);
                        continue;
                    }
                    Err(reason) => reason,
                },
                Err(reason) => reason.clone(),
            };
            self.add_reason(controller, &reason);
        }
    }

    /// Appends the v2 reason, where v1 has the controller but does not permit its use.
    fn add_reason(&mut self, controller: ResourceController, added: &str) {
        if let Some(ControllerAvailability::Unavailable { reason, in_v1 }) =
            self.controllers.get_mut(&controller)
        {
            *reason = if *in_v1 { format!("{reason}; {added}") } else { added.to_owned() };
        }
    }

    fn add_hierarchy(&mut self, hierarchy: CgroupHierarchy) -> usize {
        self.usable.iter().position(|known| *known == hierarchy).unwrap_or_else(|| {
            self.usable.push(hierarchy);
            self.usable.len() - 1
        })
    }
}

/// Asks the kernel for write permission: owner, mode, capabilities and a read-only mount all count.
pub(super) fn may_write(path: &Path) -> Result<(), String> {
    rustix::fs::access(path, Access::WRITE_OK)
        .map_err(|error| format!("no permission to write to {}: {error}", path.display()))
}

/// Name of a controller in v1, in its mount options and in errors.
pub(super) fn v1_name(controller: ResourceController) -> &'static str {
    match controller {
        ResourceController::Memory => "memory",
        ResourceController::Cpu => "cpu",
        ResourceController::CpuAccounting => "cpuacct",
        ResourceController::Pids => "pids",
        ResourceController::Io => "blkio",
        ResourceController::Freezer => "freezer",
    }
}

fn version_of(mount: &CgroupMount) -> CgroupVersion {
    match mount.kind {
        CgroupMountKind::V1(_) => CgroupVersion::V1,
        CgroupMountKind::V2 => CgroupVersion::V2,
    }
}

fn own_directory(mount: &CgroupMount, own_groups: &str) -> Result<PathBuf, String> {
    let point = mount.point.display();
    if mount.read_only {
        return Err(format!("{point} is mounted read-only"));
    }
    let own = own_group(own_groups, &mount.kind)
        .ok_or_else(|| format!("this process is in no group of the hierarchy at {point}"))?;
    mount
        .directory_of(&own)
        .ok_or_else(|| format!("our own group {} is not visible in {point}", own.display()))
}
