//! Tests of discovery on fabricated trees, run as a user whom file modes can stop.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use menace_model::sandbox::ResourceController;
use rustix::process::{Gid, Uid};
use tempfile::TempDir;

use super::{CgroupHierarchies, CgroupSources, CgroupVersion, ControllerAvailability};

struct FabricatedCgroupTree {
    directory: TempDir,
    mountinfo: String,
    own_groups: String,
}

enum CgroupFileOwnership {
    Yes,
    No,
}

impl FabricatedCgroupTree {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        Self { directory, mountinfo: String::new(), own_groups: String::new() }
    }

    fn v1(mut self, controllers: &str, options: &str, own: &str, owned: &CgroupFileOwnership) -> Self {
        let point = format!("/sys/fs/cgroup/{controllers}");
        writeln!(self.mountinfo, "32 31 0:29 / {point} {options},relatime - cgroup cgroup rw,{controllers}")
            .unwrap();
        writeln!(self.own_groups, "1:{controllers}:{own}").unwrap();
        self.group(&format!("{point}{own}"), &[("tasks", "1\n")], owned)
    }

    fn v2(mut self, point: &str, options: &str, own: &str) -> Self {
        writeln!(self.mountinfo, "41 31 0:38 / {point} {options} shared:4 - cgroup2 cgroup2 rw,nsdelegate")
            .unwrap();
        writeln!(self.own_groups, "0::{own}").unwrap();
        self
    }

    /// Adds a v2 group with its controllers, those enabled for its children, and its processes.
    fn unified(
        self,
        path: &str,
        available: &str,
        enabled: &str,
        processes: &str,
        owned: &CgroupFileOwnership,
    ) -> Self {
        let files = [
            ("cgroup.type", "domain\n"),
            ("cgroup.controllers", available),
            ("cgroup.subtree_control", enabled),
            ("cgroup.procs", processes),
        ];
        self.group(path, &files, owned)
    }

    fn group(self, path: &str, files: &[(&str, &str)], owned: &CgroupFileOwnership) -> Self {
        let directory = self.path(path);
        fs::create_dir_all(&directory).unwrap();
        let (file_mode, directory_mode) = match owned {
            CgroupFileOwnership::Yes => (0o666, 0o777),
            CgroupFileOwnership::No => (0o444, 0o555),
        };
        for (file, text) in files {
            fs::write(directory.join(file), text).unwrap();
            fs::set_permissions(directory.join(file), Permissions::from_mode(file_mode)).unwrap();
        }
        fs::set_permissions(&directory, Permissions::from_mode(directory_mode)).unwrap();
        self
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.directory.path().join(path.trim_start_matches('/'))
    }

    /// Runs the discovery. Root may write everywhere, so it runs in a thread of an unprivileged user.
    fn discover(&self) -> CgroupHierarchies {
        let sources = CgroupSources {
            mountinfo: self.path("mountinfo"),
            own_groups: self.path("cgroup"),
            mount_root: self.directory.path().to_owned(),
        };
        fs::write(&sources.mountinfo, &self.mountinfo).unwrap();
        fs::write(&sources.own_groups, &self.own_groups).unwrap();
        let unprivileged = move || {
            if rustix::process::geteuid().is_root() {
                let (user, group) = (Uid::from_raw(65534), Gid::from_raw(65534));
                rustix::thread::set_thread_groups(&[]).unwrap();
                rustix::thread::set_thread_res_gid(group, group, group).unwrap();
                rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            }
            CgroupHierarchies::discover(&sources).unwrap()
        };
        std::thread::spawn(unprivileged).join().unwrap()
    }
}

fn versions(found: &CgroupHierarchies) -> String {
    let all: Vec<String> =
        found.controllers().iter().map(|(controller, version)| format!("{controller:?}={version}")).collect();
    all.join(" ")
}

fn reason(found: &CgroupHierarchies, controller: ResourceController) -> &str {
    match found.availability(controller) {
        ControllerAvailability::Unavailable { reason, .. } => reason,
        ControllerAvailability::Available { .. } => panic!("{controller:?} is available"),
    }
}

fn base(found: &CgroupHierarchies, controller: ResourceController) -> &Path {
    match found.availability(controller) {
        ControllerAvailability::Available { hierarchy, .. } => &found.usable[*hierarchy].base,
        ControllerAvailability::Unavailable { reason, .. } => panic!("{controller:?}: {reason}"),
    }
}

#[test]
fn cgroup_v1_with_controllers_mounted_together() {
    let tree = FabricatedCgroupTree::new()
        .v1("cpu,cpuacct", "rw", "/", &CgroupFileOwnership::Yes)
        .v1("memory", "rw", "/session/7", &CgroupFileOwnership::Yes)
        .v1("pids", "rw", "/", &CgroupFileOwnership::No);
    let found = tree.discover();
    assert_eq!(versions(&found), "Memory=v1 Cpu=v1 CpuAccounting=v1");
    assert_eq!(found.usable.len(), 2);
    assert_eq!(
        found.availability(ResourceController::Cpu),
        found.availability(ResourceController::CpuAccounting)
    );
    assert_eq!(base(&found, ResourceController::Memory), tree.path("sys/fs/cgroup/memory/session/7"));
    assert!(reason(&found, ResourceController::Pids).contains("no permission"), "{found:?}");
    assert!(reason(&found, ResourceController::Io).contains("no mounted hierarchy has the blkio controller"));
}

#[test]
fn a_hybrid_host_uses_v2_for_controllers_that_v1_lacks() {
    let unified = "/sys/fs/cgroup/unified";
    let tree = FabricatedCgroupTree::new()
        .v1("memory", "rw", "/", &CgroupFileOwnership::Yes)
        .v1("pids", "rw", "/", &CgroupFileOwnership::No)
        .v2(unified, "rw", "/")
        .group(
            unified,
            &[("cgroup.controllers", "hugetlb\n"), ("cgroup.subtree_control", ""), ("cgroup.procs", "1\n")],
            &CgroupFileOwnership::Yes,
        );
    let found = tree.discover();
    assert_eq!(versions(&found), "Memory=v1 CpuAccounting=v2 Freezer=v2");
    assert!(reason(&found, ResourceController::Cpu).contains("does not have the cpu controller"));
    let both = reason(&found, ResourceController::Pids);
    assert!(both.contains("no permission") && both.contains("does not have the pids controller"), "{both}");
}

#[test]
fn the_root_of_cgroup_v2_may_have_processes() {
    let all = "cpuset cpu io memory pids\n";
    let tree = FabricatedCgroupTree::new().v2("/sys/fs/cgroup", "rw", "/").group(
        "/sys/fs/cgroup",
        &[("cgroup.controllers", all), ("cgroup.subtree_control", "cpu\n"), ("cgroup.procs", "1\n2\n")],
        &CgroupFileOwnership::Yes,
    );
    let found = tree.discover();
    assert_eq!(versions(&found), "Memory=v2 Cpu=v2 CpuAccounting=v2 Pids=v2 Io=v2 Freezer=v2");
    assert_eq!(found.usable.len(), 1);
    assert_eq!(found.usable[0].enable, ["memory", "cpu", "pids", "io"]);
}

/// Tree as `systemd-run --user --scope` creates it: the user owns all groups from `user@1000.service` downwards, and the
/// scope has our own process in it.
fn delegated(own: &str) -> FabricatedCgroupTree {
    let root = "/sys/fs/cgroup";
    let slice = format!("{root}/user.slice/user-1000.slice");
    let service = format!("{slice}/user@1000.service");
    FabricatedCgroupTree::new()
        .v2(root, "rw", own)
        .unified(
            &format!("{service}/app.slice/x.scope"),
            "memory pids\n",
            "",
            "77\n",
            &CgroupFileOwnership::Yes,
        )
        .unified(&format!("{service}/app.slice"), "memory pids\n", "memory\n", "", &CgroupFileOwnership::Yes)
        .unified(&service, "memory pids\n", "memory pids\n", "", &CgroupFileOwnership::Yes)
        .unified(&format!("{slice}/session-3.scope"), "memory pids\n", "", "78\n", &CgroupFileOwnership::No)
        .unified(&slice, "cpu memory pids\n", "memory pids\n", "", &CgroupFileOwnership::No)
        .unified(
            &format!("{root}/user.slice"),
            "cpu memory pids\n",
            "cpu memory pids\n",
            "",
            &CgroupFileOwnership::No,
        )
}

#[test]
fn a_delegated_group_uses_the_nearest_ancestor_without_processes() {
    let tree = delegated("/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope");
    let found = tree.discover();
    assert_eq!(versions(&found), "Memory=v2 CpuAccounting=v2 Pids=v2 Freezer=v2");
    assert!(base(&found, ResourceController::Memory).ends_with("user@1000.service/app.slice"));
    assert_eq!(found.usable[0].enable, ["memory", "pids"]);
    assert!(reason(&found, ResourceController::Cpu).contains("does not have the cpu controller"));
}

#[test]
fn a_login_session_has_no_controllers() {
    let found = delegated("/user.slice/user-1000.slice/session-3.scope").discover();
    assert_eq!(versions(&found), "");
    let reason_text = reason(&found, ResourceController::Memory);
    assert!(
        reason_text.contains("no permission") && reason_text.contains("session-3.scope"),
        "{reason_text}"
    );
}

#[test]
fn a_group_with_our_own_process_and_no_delegated_ancestor_has_no_controllers() {
    let tree = FabricatedCgroupTree::new().v2("/sys/fs/cgroup", "rw", "/").unified(
        "/sys/fs/cgroup",
        "memory pids\n",
        "",
        "1\n",
        &CgroupFileOwnership::Yes,
    );
    let found = tree.discover();
    assert_eq!(versions(&found), "CpuAccounting=v2 Freezer=v2");
    assert!(reason(&found, ResourceController::Memory).contains("has processes of its own"));
    assert!(reason(&found, ResourceController::Io).contains("does not have the io controller"));
}

#[test]
fn a_threaded_group_cannot_be_a_parent() {
    let root = "/sys/fs/cgroup";
    let tree = FabricatedCgroupTree::new()
        .v2(root, "rw", "/")
        .unified(root, "pids\n", "", "", &CgroupFileOwnership::Yes)
        .group(root, &[("cgroup.type", "domain threaded\n")], &CgroupFileOwnership::Yes);
    assert!(reason(&tree.discover(), ResourceController::Freezer).contains("domain threaded"));
}

#[test]
fn a_container_with_read_only_groups_has_no_controllers() {
    let all = "cpu io memory pids\n";
    let tree = FabricatedCgroupTree::new()
        .v1("memory", "ro,nosuid", "/", &CgroupFileOwnership::Yes)
        .v2("/sys/fs/cgroup/unified", "ro,nosuid", "/")
        .group(
            "/sys/fs/cgroup/unified",
            &[("cgroup.controllers", all), ("cgroup.subtree_control", all), ("cgroup.procs", "1\n")],
            &CgroupFileOwnership::Yes,
        );
    let found = tree.discover();
    assert_eq!(versions(&found), "");
    assert!(reason(&found, ResourceController::Memory).contains("is mounted read-only"));
}

#[test]
fn a_group_outside_of_the_namespace_is_unavailable() {
    let tree = FabricatedCgroupTree::new().v2("/sys/fs/cgroup", "rw", "/../elsewhere").unified(
        "/sys/fs/cgroup",
        "pids\n",
        "pids\n",
        "",
        &CgroupFileOwnership::Yes,
    );
    assert!(reason(&tree.discover(), ResourceController::Pids).contains("is not visible"));
}

#[test]
fn a_host_without_control_groups_reports_the_reason() {
    let tree = FabricatedCgroupTree::new();
    let found = tree.discover();
    assert_eq!(versions(&found), "");
    assert!(reason(&found, ResourceController::Pids).contains("no mounted hierarchy"));
    assert_eq!(found.mount_points, Vec::<(CgroupVersion, std::path::PathBuf)>::new());
}
