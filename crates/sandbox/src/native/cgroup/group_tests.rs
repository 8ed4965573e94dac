//! Tests of groups on the real hierarchies of this machine.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use menace_model::sandbox::{ResourceController, SandboxLimits};

use super::kill::processes;
use super::owner::PREFIX;
use super::real_host::{RealCgroupHost, shell};
use super::{
    CgroupError, CgroupHierarchies, CgroupSources, CgroupVersion, ControlGroup, ControllerAvailability,
};
use crate::SandboxError;

const COUNTED: [ResourceController; 2] = [ResourceController::CpuAccounting, ResourceController::Pids];
const SPIN: &str = "while :; do :; done";

fn cpu_ms(group: &ControlGroup) -> f64 {
    let usage = group.usage().unwrap();
    usage.cpu_user_ms.unwrap() + usage.cpu_system_ms.unwrap()
}

/// Waits until the condition holds, for at most ten seconds.
fn eventually(event: &str, mut happened: impl FnMut() -> bool) {
    let started = Instant::now();
    while !happened() {
        assert!(started.elapsed() < Duration::from_secs(10), "timeout while waiting for {event}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn end(group: &ControlGroup, mut child: std::process::Child) {
    group.kill().unwrap();
    child.wait().unwrap();
    group.remove().unwrap();
}

#[test]
fn a_memory_bomb_is_killed_and_counted() {
    let Some(host) = RealCgroupHost::new() else { return };
    let limits = SandboxLimits { memory: Some(16 << 20), ..SandboxLimits::default() };
    let group = host.owner.create("bomb", &limits, &[]).unwrap();
    assert_eq!(group.oom_kills().unwrap(), Some(0));
    let status = shell(&group, "exec tail /dev/zero").wait().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGKILL));
    assert_eq!(group.oom_kills().unwrap(), Some(1));
    let peak = group.usage().unwrap().peak_rss_bytes.unwrap();
    assert!((8 << 20..=16 << 20).contains(&peak), "{peak}");
    let now = group.memory_now().unwrap().unwrap();
    group.reset_peak().unwrap();
    let peak = group.usage().unwrap().peak_rss_bytes.unwrap();
    assert!(now < 8 << 20 && peak < 8 << 20, "{now} {peak}");
    group.remove().unwrap();
    host.finish();
}

#[test]
fn a_fork_bomb_is_bounded_and_killed() {
    let Some(host) = RealCgroupHost::new() else { return };
    let limits = SandboxLimits { pids: Some(8), ..SandboxLimits::default() };
    let group = host.owner.create("forks", &limits, &[]).unwrap();
    let pids_max = group.directory_of(ResourceController::Pids).unwrap().path.join("pids.max");
    let mut child = shell(&group, "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done; wait");
    assert!(!child.wait().unwrap().success(), "all twelve processes started despite the limit");
    assert_eq!(group.pids_now().unwrap(), Some(7));
    group.kill().unwrap();
    assert_eq!(processes(&group.directories[0].path).unwrap(), Vec::<i32>::new());
    assert_eq!(fs::read_to_string(pids_max).unwrap(), "8\n", "the limit changed after a kill");
    group.remove().unwrap();
    host.finish();
}

/// Kills a fork chain: each process exits after forking, so a list of processes is stale before it is read.
fn kill_a_chain_of_forks(host: RealCgroupHost) {
    let group =
        host.owner.create("chain", &SandboxLimits::default(), &[ResourceController::CpuAccounting]).unwrap();
    let child = shell(&group, "f() { (f) & exit; }; f");
    let first = child.id().cast_signed();
    eventually("the first shell to end", || {
        processes(&group.directories[0].path).unwrap().first().is_some_and(|pid| *pid != first)
    });
    end(&group, child);
    host.finish();
}

#[test]
fn a_fork_chain_is_killed_through_the_pids_limit() {
    let Some(host) = RealCgroupHost::new() else { return };
    kill_a_chain_of_forks(host);
}

#[test]
fn a_fork_chain_is_killed_through_the_freezer() {
    let Some(host) = host_with_mounts(|line| !line.ends_with("pids") && !line.contains(" - cgroup2 ")) else {
        return;
    };
    if !matches!(
        host.hierarchies.availability(ResourceController::CpuAccounting),
        ControllerAvailability::Available { .. }
    ) {
        eprintln!("SKIPPED: this host has no cgroup v1");
        return;
    }
    kill_a_chain_of_forks(host);
}

#[test]
fn a_fork_chain_is_killed_by_cgroup_v2() {
    let Some(host) = only_unified() else { return };
    kill_a_chain_of_forks(host);
}

#[test]
fn cgroup_v2_freezes_processes_that_v1_accounts() {
    let Some(host) = host_with_mounts(|line| !line.ends_with("freezer")) else { return };
    freeze_and_thaw(host, &COUNTED);
}

#[test]
fn a_cpu_quota_limits_cpu_time() {
    let Some(host) = RealCgroupHost::new() else { return };
    let limits = SandboxLimits { cpus: Some(0.2), ..SandboxLimits::default() };
    let group = host.owner.create("quota", &limits, &[ResourceController::CpuAccounting]).unwrap();
    let started = Instant::now();
    let mut child = shell(&group, &format!("exec timeout -s KILL 0.3 /bin/sh -c '{SPIN}'"));
    child.wait().unwrap();
    let (wall, used) = (started.elapsed().as_secs_f64() * 1e3, cpu_ms(&group));
    // One period more than the time that passed, because a period may have begun before.
    assert!(used > 10.0 && used <= 0.2 * (wall + 100.0) + 20.0, "{used} ms of {wall} ms");
    group.remove().unwrap();
    host.finish();
}

#[test]
fn cpu_time_is_counted_exactly_enough() {
    let Some(host) = RealCgroupHost::new() else { return };
    let group = host.owner.create("count", &SandboxLimits::default(), &COUNTED).unwrap();
    let mut child = shell(&group, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
    let pid = rustix::process::Pid::from_child(&child);
    // The zombie still has its own counters, in ticks of 10 ms: fields 14 and 15, counted after the name in brackets.
    rustix::process::waitid(
        rustix::process::WaitId::Pid(pid),
        rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
    )
    .unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    child.wait().unwrap();
    let ours = cpu_ms(&group);
    assert!(ours > 10.0 && (ours - ticks * 10.0).abs() <= 21.0, "{ours} ms, {ticks} ticks");
    group.remove().unwrap();
    host.finish();
}

fn freeze_and_thaw(host: RealCgroupHost, needs: &[ResourceController]) {
    let group = host.owner.create("pause", &SandboxLimits::default(), needs).unwrap();
    let child = shell(&group, &format!("({SPIN}) & {SPIN}"));
    eventually("both shells to run", || {
        processes(&group.directories[0].path).unwrap().len() == 2 && cpu_ms(&group) > 2.0
    });
    group.freeze().unwrap();
    group.freeze().unwrap();
    let frozen = cpu_ms(&group);
    let watched = Instant::now();
    while watched.elapsed() < Duration::from_millis(30) {
        assert!((cpu_ms(&group) - frozen).abs() < 1e-9, "a frozen group used CPU time");
    }
    group.thaw().unwrap();
    eventually("the group to go on", || cpu_ms(&group) > frozen + 2.0);
    // A frozen group can be killed.
    group.freeze().unwrap();
    end(&group, child);
    host.finish();
}

#[test]
fn a_frozen_group_uses_no_cpu_time_and_resumes_when_thawed() {
    let Some(host) = RealCgroupHost::new() else { return };
    freeze_and_thaw(host, &COUNTED);
}

#[test]
fn a_group_without_a_limit_on_processes_can_be_killed_while_frozen() {
    let Some(host) = RealCgroupHost::new() else { return };
    freeze_and_thaw(host, &[ResourceController::CpuAccounting]);
}

#[test]
fn a_group_with_a_freezer_from_the_start_moves_no_processes() {
    let Some(host) = RealCgroupHost::new() else { return };
    freeze_and_thaw(host, &[ResourceController::CpuAccounting, ResourceController::Freezer]);
}

#[test]
fn thawing_a_group_that_was_never_frozen_creates_no_directory() {
    let Some(host) = RealCgroupHost::new() else { return };
    let group = host.owner.create("warm", &SandboxLimits::default(), &COUNTED).unwrap();
    group.thaw().unwrap();
    assert_eq!(group.all_directories(), group.directories);
    group.remove().unwrap();
    host.finish();
}

#[test]
fn a_group_has_one_directory_in_each_needed_hierarchy_only() {
    let Some(host) = RealCgroupHost::new() else { return };
    let limits = SandboxLimits { memory: Some(1 << 30), pids: Some(10), ..SandboxLimits::default() };
    let group =
        host.owner.create("one", &limits, &[ResourceController::Pids, ResourceController::Memory]).unwrap();
    let mut hierarchies: Vec<usize> = group.directories.iter().map(|directory| directory.hierarchy).collect();
    hierarchies.dedup();
    assert_eq!(hierarchies.len(), group.directories.len());
    assert!(
        group.directory_of(ResourceController::Memory).is_some()
            && group.directory_of(ResourceController::Pids).is_some()
    );
    let joined_v1 =
        group.directories.iter().filter(|directory| directory.version == CgroupVersion::V1).count();
    assert_eq!(group.join_descriptors().unwrap().len(), joined_v1);
    assert_eq!(group.clone_into().is_some(), joined_v1 < group.directories.len());
    let error = host.owner.create("one", &limits, &[]).unwrap_err();
    assert!(matches!(error, CgroupError::Create { .. }), "{error}");
    assert!(
        group.directories.iter().all(|directory| directory.path.exists()),
        "a failed create with the same name removed it"
    );
    group.remove().unwrap();
    group.remove().unwrap();
    host.finish();
}

#[test]
fn dropping_a_group_kills_and_removes_it() {
    let Some(host) = RealCgroupHost::new() else { return };
    let group = host.owner.create("dropped", &SandboxLimits::default(), &COUNTED).unwrap();
    let mut child = shell(&group, SPIN);
    let paths: Vec<PathBuf> = group.directories.iter().map(|directory| directory.path.clone()).collect();
    drop(group);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert!(paths.iter().all(|path| !path.exists()));
    host.finish();
}

#[test]
fn a_group_with_processes_cannot_be_removed() {
    let Some(host) = RealCgroupHost::new() else { return };
    let group = host.owner.create("busy", &SandboxLimits::default(), &COUNTED).unwrap();
    let child = shell(&group, SPIN);
    let error = super::group::remove_directory(&group.directories[0].path, Duration::ZERO).unwrap_err();
    assert!(matches!(error, CgroupError::Remove { .. }), "{error}");
    end(&group, child);
    host.finish();
}

#[test]
fn clean_up_removes_only_the_groups_of_the_dead_owner() {
    let Some(host) = RealCgroupHost::new() else { return };
    let other = RealCgroupHost::new().expect("creating a host succeeded above");
    let limits = SandboxLimits { memory: Some(1 << 30), ..SandboxLimits::default() };
    let left = host.owner.create("left", &limits, &COUNTED).unwrap();
    let kept = other.owner.create("left", &limits, &COUNTED).unwrap();
    let (mut lost, mut safe) = (shell(&left, SPIN), shell(&kept, SPIN));
    left.freeze().unwrap();
    let directories = left.all_directories();
    // A killed process runs no destructors.
    std::mem::forget(left);

    // Two for each hierarchy: the group and its parent.
    assert_eq!(host.hierarchies.remove_stale_groups(&host.name).unwrap(), 2 * directories.len());
    assert_eq!(lost.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert!(directories.iter().all(|directory| !directory.path.exists()));
    assert!(safe.try_wait().unwrap().is_none(), "the process of another owner was killed");
    assert!(kept.directories.iter().all(|directory| directory.path.exists()));
    end(&kept, safe);
    other.finish();
    host.finish();
}

#[test]
fn a_limit_that_cannot_be_enforced_is_rejected_with_the_reason() {
    let Some(host) = only_unified() else { return };
    let limits = SandboxLimits { memory: Some(1 << 30), ..SandboxLimits::default() };
    let error = host.owner.create("limit", &limits, &[]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("limit on memory") && text.contains("memory controller"), "{text}");
    let SandboxError::Refused { problem, hint } = error.into() else { panic!("{text}") };
    assert!(text.contains(&problem) && hint.contains("root"), "{problem} / {hint}");
    assert!(host.owner.create("limit", &SandboxLimits::default(), &[ResourceController::Pids]).is_err());
    host.finish();
}

#[test]
fn names_that_are_not_one_directory_are_rejected() {
    let Some(host) = RealCgroupHost::new() else { return };
    for name in ["", ".", "..", "a/b", ".a", "a b", "ä"] {
        assert!(matches!(host.hierarchies.owner_group(name, None), Err(CgroupError::Name { .. })), "{name}");
        assert!(
            matches!(host.hierarchies.remove_stale_groups(name), Err(CgroupError::Name { .. })),
            "{name}"
        );
        let made = host.owner.create(name, &SandboxLimits::default(), &[]);
        assert!(matches!(made, Err(CgroupError::Name { .. })), "{name}");
    }
    host.finish();
}

/// Host on which only some of the file systems appear to be mounted.
fn host_with_mounts(visible: impl Fn(&str) -> bool) -> Option<RealCgroupHost> {
    let directory = tempfile::tempdir().unwrap();
    let all = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let shown: Vec<&str> = all.lines().filter(|line| visible(line)).collect();
    let mountinfo = directory.path().join("mountinfo");
    fs::write(&mountinfo, shown.join("\n")).unwrap();
    RealCgroupHost::with(&CgroupSources { mountinfo, ..CgroupSources::host() })
}

/// Host without cgroup v1; a hybrid host has no controllers then.
fn only_unified() -> Option<RealCgroupHost> {
    let host = host_with_mounts(|line| line.contains(" - cgroup2 "))?;
    if host.hierarchies.controllers().contains_key(&ResourceController::Memory) {
        eprintln!("SKIPPED: cgroup v2 has the controllers on this host");
        return None;
    }
    Some(host)
}

#[test]
fn cgroup_v2_alone_freezes_and_kills() {
    let Some(host) = only_unified() else { return };
    freeze_and_thaw(host, &[ResourceController::CpuAccounting]);
}

#[test]
fn a_process_can_be_cloned_into_cgroup_v2() {
    let Some(host) = only_unified() else { return };
    let group = host.owner.create("clone", &SandboxLimits::default(), &[]).unwrap();
    let child = clone_into(group.clone_into().expect("the host has only cgroup v2"));
    assert_eq!(processes(&group.directories[0].path).unwrap(), [child]);
    group.kill().unwrap();
    let pid = rustix::process::Pid::from_raw(child);
    let (_, status) = rustix::process::waitpid(pid, rustix::process::WaitOptions::empty()).unwrap().unwrap();
    assert_eq!(status.terminating_signal(), Some(libc::SIGKILL));
    group.remove().unwrap();
    host.finish();
}

/// Clones a child that waits for a signal.
fn clone_into(group: std::os::fd::BorrowedFd<'_>) -> i32 {
    use std::os::fd::AsRawFd as _;
    // SAFETY: all fields are integers, for which zero is valid and requests nothing.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = 0x2_0000_0000; // CLONE_INTO_CGROUP
    arguments.exit_signal = libc::SIGCHLD as u64;
    arguments.cgroup = u64::from(group.as_raw_fd().cast_unsigned());
    // SAFETY: without CLONE_VM the child has its own copy of memory, and it calls only `pause`, which is safe in the
    // fork of a multi-threaded process.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    if pid == 0 {
        loop {
            // SAFETY: `pause` takes no arguments and only waits.
            unsafe { libc::pause() };
        }
    }
    assert!(pid > 0, "{}", std::io::Error::last_os_error());
    i32::try_from(pid).unwrap()
}

#[test]
fn all_our_directories_have_the_prefix() {
    let Some(host) = RealCgroupHost::new() else { return };
    let group = host.owner.create("told", &SandboxLimits::default(), &COUNTED).unwrap();
    for directory in &group.directories {
        let parent = directory.path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(parent, format!("{PREFIX}{}", host.name));
    }
    group.remove().unwrap();
    host.finish();
}

#[test]
fn discovery_agrees_with_the_kernel_about_this_process() {
    let found = CgroupHierarchies::discover(&CgroupSources::host()).unwrap();
    for (version, point) in &found.mount_points {
        let file = match version {
            CgroupVersion::V1 => "tasks",
            CgroupVersion::V2 => "cgroup.controllers",
        };
        assert!(point.join(file).exists(), "{}", point.display());
    }
}
