//! Cgroup probes: for each controller, the nearest ancestor cgroup in which menace can create and use a cgroup.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::failure::{ProbeFailure, step_failed};

/// Cgroup controller that menace uses for limits or accounting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbedController {
    Memory,
    Cpu,
    CpuAccounting,
    Pids,
    Io,
    Freezer,
}

/// Interface version of a cgroup hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbedCgroupVersion {
    One,
    Two,
}

/// Mounted hierarchy that can have a controller.
#[derive(Debug, PartialEq, Eq)]
struct ProbedHierarchy {
    version: ProbedCgroupVersion,
    mount_point: PathBuf,
    /// Cgroup of this process, relative to the mount point.
    own: PathBuf,
}

/// File access in a new cgroup that proves that the controller is available.
enum ControllerProof {
    Write(&'static str, &'static str),
    Read(&'static str),
}

impl ProbedController {
    /// Controller name in version 1 hierarchies.
    fn name_in_version_one(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::CpuAccounting => "cpuacct",
            Self::Pids => "pids",
            Self::Io => "blkio",
            Self::Freezer => "freezer",
        }
    }

    fn proof(self, version: ProbedCgroupVersion) -> ControllerProof {
        match (self, version) {
            (Self::Memory, ProbedCgroupVersion::One) => {
                ControllerProof::Write("memory.limit_in_bytes", "67108864")
            }
            (Self::Memory, ProbedCgroupVersion::Two) => ControllerProof::Write("memory.max", "67108864"),
            (Self::Cpu, ProbedCgroupVersion::One) => ControllerProof::Write("cpu.cfs_quota_us", "50000"),
            (Self::Cpu, ProbedCgroupVersion::Two) => ControllerProof::Write("cpu.max", "50000 100000"),
            (Self::CpuAccounting, ProbedCgroupVersion::One) => ControllerProof::Read("cpuacct.usage"),
            (Self::CpuAccounting, ProbedCgroupVersion::Two) => ControllerProof::Read("cpu.stat"),
            (Self::Pids, _) => ControllerProof::Write("pids.max", "16"),
            // Writing a limit would need the device number of a real disk.
            (Self::Io, ProbedCgroupVersion::One) => ControllerProof::Read("blkio.throttle.write_bps_device"),
            (Self::Io, ProbedCgroupVersion::Two) => ControllerProof::Read("io.max"),
            (Self::Freezer, ProbedCgroupVersion::One) => ControllerProof::Write("freezer.state", "FROZEN"),
            (Self::Freezer, ProbedCgroupVersion::Two) => ControllerProof::Write("cgroup.freeze", "1"),
        }
    }
}

/// Creates a cgroup with this controller, uses it, and removes it.
pub(super) fn controller(controller: ProbedController) -> Result<String, ProbeFailure> {
    let mounts =
        fs::read_to_string("/proc/self/mountinfo").map_err(step_failed("read /proc/self/mountinfo"))?;
    let groups = fs::read_to_string("/proc/self/cgroup").map_err(step_failed("read /proc/self/cgroup"))?;
    let mut nearest = None;
    for hierarchy in hierarchies(&mounts, &groups, controller) {
        for parent in parents(&hierarchy) {
            match try_in(&parent, controller, hierarchy.version) {
                Ok(()) => {
                    let version = name(hierarchy.version);
                    return Ok(format!("{version}, cgroups can be created in {}", parent.display()));
                }
                Err(refusal) => nearest = nearest.or(Some(refusal)),
            }
        }
    }
    let absent =
        || ProbeFailure::Absent { what: "no mounted cgroup hierarchy has this controller".to_owned() };
    Err(nearest.unwrap_or_else(absent))
}

fn name(version: ProbedCgroupVersion) -> &'static str {
    match version {
        ProbedCgroupVersion::One => "v1",
        ProbedCgroupVersion::Two => "v2",
    }
}

/// The cgroup of this process and its ancestors: a cgroup with processes cannot enable controllers for children, so an
/// ancestor may be needed.
fn parents(hierarchy: &ProbedHierarchy) -> impl Iterator<Item = PathBuf> {
    // Joining an empty path would add a slash.
    let absolute = |group: &Path| hierarchy.mount_point.join(group).components().collect();
    hierarchy.own.ancestors().map(absolute)
}

fn try_in(
    parent: &Path,
    controller: ProbedController,
    version: ProbedCgroupVersion,
) -> Result<(), ProbeFailure> {
    let unique = format!("menace-probe-{}-{}", std::process::id(), controller.name_in_version_one());
    let group = parent.join(unique);
    let step = format!("create a {} cgroup in {}", name(version), parent.display());
    fs::create_dir(&group).map_err(step_failed(step))?;
    let used = use_controller(&group, controller, version);
    fs::remove_dir(&group).map_err(step_failed(format!("remove {}", group.display())))?;
    used
}

fn use_controller(
    group: &Path,
    controller: ProbedController,
    version: ProbedCgroupVersion,
) -> Result<(), ProbeFailure> {
    let (file, used) = match controller.proof(version) {
        ControllerProof::Write(file, value) => {
            let opened = fs::OpenOptions::new().write(true).open(group.join(file));
            (file, opened.and_then(|mut opened| opened.write_all(value.as_bytes())))
        }
        ControllerProof::Read(file) => (file, fs::read_to_string(group.join(file)).map(drop)),
    };
    let parent = group.parent().unwrap_or(group).display();
    used.map_err(|error| match (error.kind(), version) {
        (ErrorKind::NotFound, ProbedCgroupVersion::Two) => ProbeFailure::Absent {
            what: format!("{parent}/cgroup.subtree_control does not enable it for new cgroups"),
        },
        _ => step_failed(format!("use {file} of a new cgroup in {parent}"))(error),
    })
}

/// Hierarchies that can have a controller, version 1 first: a controller bound to version 1 is in no other hierarchy.
fn hierarchies(mounts: &str, groups: &str, controller: ProbedController) -> Vec<ProbedHierarchy> {
    let mut found: Vec<_> = mounts.lines().filter_map(|line| hierarchy(line, groups, controller)).collect();
    found.sort_by_key(|hierarchy| hierarchy.version == ProbedCgroupVersion::Two);
    found
}

/// Parses a line of mountinfo; `None` unless it is a hierarchy that can have the controller.
fn hierarchy(line: &str, groups: &str, controller: ProbedController) -> Option<ProbedHierarchy> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3);
    let (root, mount_point) = (mount.next()?, unescaped(mount.next()?));
    let mut file_system = file_system.split(' ');
    let version = match file_system.next()? {
        "cgroup" => ProbedCgroupVersion::One,
        "cgroup2" => ProbedCgroupVersion::Two,
        _ => return None,
    };
    let name = controller.name_in_version_one();
    if version == ProbedCgroupVersion::One && !file_system.nth(1)?.split(',').any(|option| option == name) {
        return None;
    }
    let own = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let matches_hierarchy = match version {
            ProbedCgroupVersion::One => controllers.split(',').any(|controller| controller == name),
            ProbedCgroupVersion::Two => number == "0" && controllers.is_empty(),
        };
        matches_hierarchy.then_some(path)
    })?;
    // In a container the mount shows only a part of the hierarchy, and the cgroup of this process can be outside of it.
    let own = Path::new(own).strip_prefix(root).unwrap_or(Path::new(""));
    Some(ProbedHierarchy { version, mount_point, own: own.to_owned() })
}

/// Decodes a path of mountinfo, which writes spaces, tabs, newlines and backslashes as octal escapes.
fn unescaped(path: &str) -> PathBuf {
    let replaced =
        path.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\");
    PathBuf::from(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
        36 31 0:33 /docker/7 /sys/fs/my\\040pids rw - cgroup cgroup rw,pids\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n\
        42 31 0:39 / /tmp rw - tmpfs tmpfs rw,memory\n";
    const GROUPS: &str =
        "4:memory:/a/b\n3:cpu,cpuacct:/\n2:pids:/docker/7/x\n1:name=systemd:/\n0::/user/scope\n";

    #[track_caller]
    fn check(controller: ProbedController, expected: &[(ProbedCgroupVersion, &str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(version, mount_point, own)| ProbedHierarchy {
                version: *version,
                mount_point: mount_point.into(),
                own: own.into(),
            })
            .collect();
        assert_eq!(hierarchies(MOUNTS, GROUPS, controller), expected);
    }

    #[test]
    fn hierarchies_of_a_controller_are_found() {
        let unified = (ProbedCgroupVersion::Two, "/sys/fs/cgroup/unified", "user/scope");
        check(
            ProbedController::Memory,
            &[(ProbedCgroupVersion::One, "/sys/fs/cgroup/memory", "a/b"), unified],
        );
        check(
            ProbedController::CpuAccounting,
            &[(ProbedCgroupVersion::One, "/sys/fs/cgroup/cpu,cpuacct", ""), unified],
        );
        check(ProbedController::Pids, &[(ProbedCgroupVersion::One, "/sys/fs/my pids", "x"), unified]);
        check(ProbedController::Io, &[unified]);
    }

    #[test]
    fn parents_go_from_the_own_cgroup_up_to_the_root() {
        let hierarchy = ProbedHierarchy {
            version: ProbedCgroupVersion::Two,
            mount_point: "/m".into(),
            own: "a/b".into(),
        };
        let parents: Vec<_> = parents(&hierarchy).collect();
        assert_eq!(parents, [PathBuf::from("/m/a/b"), PathBuf::from("/m/a"), PathBuf::from("/m")]);
    }
}
