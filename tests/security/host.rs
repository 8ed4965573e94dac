//! State of the host before and after a case: nothing of menace may be left, and nothing of the host may be missing.
//!
//! The launcher of the backend under test is known from its entry in the registry. Every process of every sandbox
//! descends from it, so that a survivor is found even if it changed its parents, session or name.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::containers::TestContainers;

/// Time for the kernel to remove killed processes.
const SOON: Duration = Duration::from_secs(2);

/// Time for an engine to remove containers.
const SOON_FOR_AN_ENGINE: Duration = Duration::from_secs(20);

/// Backend under test.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BackendKind {
    Native,
    Docker,
}

impl BackendKind {
    pub(crate) fn native() -> Self {
        Self::Native
    }

    pub(crate) fn native_rootless() -> Self {
        Self::Native
    }

    pub(crate) fn docker() -> Self {
        Self::Docker
    }
}

/// State of the host before a case.
pub(crate) struct HostState {
    kind: BackendKind,
    containers: Option<TestContainers>,
    runtime: TempDir,
    /// Names of the backends of the case, which are in the names of their control groups.
    backends: RefCell<BTreeSet<String>>,
    mounts: String,
    identity: HostIdentity,
}

/// Host settings that a sandbox with too many rights would change first.
#[derive(Debug, PartialEq, Eq)]
struct HostIdentity {
    host_name: String,
    domain_name: String,
    system_files: BTreeMap<PathBuf, String>,
}

/// Whether a process is a spare: it has created namespaces and waits to become a sandbox.
fn is_spare(process: i32) -> bool {
    fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name.trim() == "menace: spare")
}

impl HostState {
    /// Records the state of the host.
    pub(crate) fn look(kind: BackendKind) -> Self {
        let containers = match kind {
            BackendKind::Native => None,
            BackendKind::Docker => Some(TestContainers::of_this_test()),
        };
        Self {
            kind,
            containers,
            runtime: tempfile::Builder::new().prefix("menace-security-").tempdir().unwrap(),
            backends: RefCell::default(),
            mounts: mounts(),
            identity: HostIdentity::read(),
        }
    }

    /// Records the state again, for a second backend of the case.
    pub(crate) fn look_again(&self) -> Self {
        Self::look(self.kind)
    }

    /// Containers of the test, if sandboxes are containers.
    pub(crate) fn containers(&self) -> Option<&TestContainers> {
        self.containers.as_ref()
    }

    /// Directory with the registry of the backends of the case.
    pub(crate) fn runtime_directory(&self) -> &Path {
        self.runtime.path()
    }

    /// Processes of the sandboxes of the case: descendants of its launchers.
    pub(crate) fn processes_of_sandboxes(&self) -> BTreeSet<i32> {
        if let Some(containers) = &self.containers {
            return containers.processes();
        }
        let parents = parents();
        let launchers = self.launchers();
        let mut found: BTreeSet<i32> = launchers.iter().copied().collect();
        loop {
            let below = |(child, parent): &(i32, i32)| found.contains(parent).then_some(*child);
            let children: Vec<i32> = parents.iter().filter_map(below).collect();
            let before = found.len();
            found.extend(children);
            if found.len() == before {
                break;
            }
        }
        found.retain(|process| !launchers.contains(process));
        let spares: Vec<i32> = found.iter().copied().filter(|process| is_spare(*process)).collect();
        assert!(spares.len() <= launchers.len(), "a launcher has more than one spare process: {spares:?}");
        found.retain(|process| !spares.contains(process));
        found
    }

    /// Number of threads of all these processes.
    pub(crate) fn threads_of_sandboxes(&self) -> u64 {
        let threads = |process| names(&PathBuf::from(format!("/proc/{process}/task"))).len() as u64;
        self.processes_of_sandboxes().into_iter().map(threads).sum()
    }

    /// CPU time of each of these processes in clock ticks, except for the init processes.
    pub(crate) fn processor_ticks_of_sandboxes(&self) -> BTreeMap<i32, u64> {
        let launchers = self.launchers();
        let processes = self.processes_of_sandboxes().into_iter();
        let of_commands =
            processes.filter(|process| parent(*process).is_some_and(|parent| !launchers.contains(&parent)));
        of_commands.filter_map(|process| Some((process, processor_ticks(process)?))).collect()
    }

    /// Asserts that the processes and control groups of all sandboxes of the case are gone.
    pub(crate) async fn assert_no_sandbox_is_left(&self) {
        if let Some(containers) = &self.containers {
            return assert_no_container_is_left(containers).await;
        }
        assert!(!self.launchers().is_empty(), "no launcher is known, so no process could be found");
        let deadline = Instant::now() + SOON;
        loop {
            let (processes, groups) = (self.processes_of_sandboxes(), self.groups_of_sandboxes());
            if processes.is_empty() && groups.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "left: processes {processes:?}, control groups {groups:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Asserts that the dropped backend left nothing and that the host is unchanged.
    pub(crate) fn assert_unchanged(self) {
        assert_eq!(mounts(), self.mounts);
        assert_eq!(HostIdentity::read(), self.identity);
        if let Some(containers) = &self.containers {
            assert_eq!(containers.all(), Vec::<String>::new(), "the dropped backend must leave no processes");
            return;
        }
        let entries: Vec<String> = names(self.runtime.path());
        assert_eq!(entries, ["lock"], "the dropped backend must remove its entry");
        let backends = self.backends.take();
        assert!(!backends.is_empty(), "no backend is known, so no control group could be found");
        for name in backends {
            assert_eq!(control_groups(&format!("menace-{name}")), Vec::<PathBuf>::new());
        }
        self.runtime.close().unwrap();
    }

    /// Registry entries of the running backends.
    pub(crate) fn backends(&self) -> Vec<String> {
        let mut entries = names(self.runtime.path());
        entries.retain(|name| name != "lock");
        self.backends.borrow_mut().extend(entries.iter().cloned());
        entries
    }

    fn launchers(&self) -> Vec<i32> {
        let registry = |name: &String| self.runtime.path().join(name).join("registry.json");
        self.backends().iter().filter_map(|name| launcher(&registry(name))).collect()
    }

    /// Every control group of the backends of the case.
    fn groups_of_sandboxes(&self) -> Vec<PathBuf> {
        let owners = self.backends().into_iter().flat_map(|name| control_groups(&format!("menace-{name}")));
        owners.flat_map(|owner| directories(&owner)).collect()
    }
}

async fn assert_no_container_is_left(containers: &TestContainers) {
    let deadline = Instant::now() + SOON_FOR_AN_ENGINE;
    while !containers.all().is_empty() {
        assert!(Instant::now() < deadline, "left: {:?}", containers.all());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl HostIdentity {
    fn read() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap();
        let hash = |path: &str| {
            let content = fs::read(path).unwrap();
            (PathBuf::from(path), blake3::hash(&content).to_string())
        };
        Self {
            host_name: text("/proc/sys/kernel/hostname"),
            domain_name: text("/proc/sys/kernel/domainname"),
            system_files: ["/bin/sh", "/etc/passwd", "/etc/hosts"].map(hash).into(),
        }
    }
}

/// Processes of the whole machine whose command line contains the marker.
pub(crate) fn processes_with(marker: &str) -> Vec<i32> {
    let has_it = |process: &i32| {
        // A process that exits in between has no command line.
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker)
    };
    processes().into_iter().filter(|process| *process != own()).filter(has_it).collect()
}

/// Waits until `count` processes have the marker in their command line, and returns how long that took.
pub(crate) async fn wait_for_processes_with(marker: &str, count: usize, patience: Duration) -> Duration {
    let started = Instant::now();
    while processes_with(marker).len() != count {
        let found = processes_with(marker);
        assert!(started.elapsed() < patience, "expected {count} processes, found {found:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    started.elapsed()
}

/// Unique text for a command line.
pub(crate) fn marker() -> String {
    let unique = tempfile::Builder::new().prefix("marker-").rand_bytes(12).tempfile().unwrap();
    unique.path().file_name().unwrap().to_str().unwrap().to_owned()
}

fn own() -> i32 {
    i32::try_from(std::process::id()).unwrap()
}

fn processes() -> Vec<i32> {
    names(Path::new("/proc")).iter().filter_map(|name| name.parse().ok()).collect()
}

fn parents() -> Vec<(i32, i32)> {
    processes().into_iter().filter_map(|process| Some((process, parent(process)?))).collect()
}

fn parent(process: i32) -> Option<i32> {
    i32::try_from(field_after_name(process, 1)?).ok()
}

fn processor_ticks(process: i32) -> Option<u64> {
    Some(field_after_name(process, 11)? + field_after_name(process, 12)?)
}

/// A number in `/proc/PID/stat`; `None` if the process is gone.
fn field_after_name(process: i32, field: usize) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program name, in parentheses, may itself contain spaces and parentheses.
    stat.rsplit_once(')')?.1.split_whitespace().nth(field)?.parse().ok()
}

fn launcher(registry: &Path) -> Option<i32> {
    let entry: serde_json::Value = serde_json::from_slice(&fs::read(registry).ok()?).ok()?;
    i32::try_from(entry["launcher"]["pid"].as_i64()?).ok()
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap()
}

/// Directories of any control group hierarchy whose name has this prefix.
pub(crate) fn control_groups(prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = pending.pop() {
        for below in directories(&directory) {
            let name = below.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(prefix) {
                found.push(below);
            } else {
                pending.push(below);
            }
        }
    }
    found
}

/// Subdirectories; empty if the directory is gone, because those of other tests come and go.
fn directories(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.flatten().filter(is_directory).map(|entry| entry.path()).collect()
}

/// Names of the entries of a directory; empty if it is gone.
fn names(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
