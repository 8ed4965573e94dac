//! Isolation probes of `menace doctor`: as root, as an unprivileged user, and with features that are really missing.
//!
//! These tests need root, or for some of them user namespaces. Elsewhere they report that they are skipped; with
//! `CI=true` they fail.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use menace_tests::{InvocationOutcome, MenaceInvocation, RepositoryTree, menace_binary};
use serde_json::Value;

/// Features that the native sandbox requires.
const REQUIRED: [&str; 12] = [
    "user namespace",
    "mount namespace",
    "pid namespace",
    "net namespace",
    "ipc namespace",
    "uts namespace",
    "tmpfs",
    "overlayfs",
    "proc",
    "no_new_privs",
    "seccomp filter",
    "seccomp user notification",
];

const CONTROLLERS: [&str; 6] = [
    "memory controller",
    "cpu controller",
    "cpuacct controller",
    "pids controller",
    "io controller",
    "freezer controller",
];

fn check<'a>(checks: &'a Value, name: &str) -> &'a Value {
    let found = checks.as_array().unwrap().iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no check has the name {name}"))
}

fn text<'a>(check: &'a Value, field: &str) -> &'a str {
    check[field].as_str().unwrap()
}

/// Whether a command of the host succeeds; otherwise the test is skipped, or fails in CI.
#[expect(clippy::print_stderr, reason = "a skipped test has to be reported")]
fn host_can(what: &str, program: &str, arguments: &[&str]) -> bool {
    let succeeds = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    assert!(
        succeeds || std::env::var_os("CI").is_none(),
        "this host lacks a feature that CI must test: {what}"
    );
    if !succeeds {
        eprintln!("skipped: this host has no {what}");
    }
    succeeds
}

fn is_root() -> bool {
    host_can("root", "sh", &["-c", "test $(id -u) = 0"])
}

/// Runs `menace doctor` after a shell command in a new user namespace.
fn doctor_after(command: &str, options: &[&str]) -> InvocationOutcome {
    let tree = RepositoryTree::new();
    let script = format!("{command} && exec \"$0\" doctor \"$@\"");
    MenaceInvocation::of("unshare", &tree.work(), &tree.home())
        .arguments(["--user", "--map-root-user", "sh", "-c", &script])
        .arguments([menace_binary()])
        .arguments(options)
        .run()
}

/// Control groups of probes whose process is gone. Groups of concurrently running doctors are ignored.
fn groups_left_behind() -> Vec<String> {
    let output = Command::new("find").args(["/sys/fs/cgroup", "-name", "menace-probe-*"]).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let is_left = |group: &&str| {
        let process = group.split("menace-probe-").nth(1).unwrap().split('-').next().unwrap();
        !Path::new("/proc").join(process).exists() && Path::new(group).exists()
    };
    listed.lines().filter(is_left).map(str::to_owned).collect()
}

/// Number of mounts on `/proc`, over which the probes mount.
fn mounts_on_proc() -> usize {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().filter(|line| line.split(' ').nth(4) == Some("/proc")).count()
}

#[test]
fn root_has_what_the_native_sandbox_requires_and_no_group_is_left_behind() {
    if !is_root() {
        return;
    }
    let checks = RepositoryTree::new().menace(["doctor", "--json"]).run().success().json();
    for check in checks.as_array().unwrap() {
        let name = text(check, "name");
        let is_required = REQUIRED.contains(&name) || name == "data directory";
        assert_eq!(check["required"], is_required, "{check}");
        for field in ["detail", "purpose", "remedy", "group"] {
            assert!(!text(check, field).is_empty(), "{check}");
        }
    }
    for name in REQUIRED.iter().chain(&["nested user namespace", "clone3 and pidfd"]) {
        assert_eq!(check(&checks, name)["present"], true, "{}", check(&checks, name));
    }
    for name in CONTROLLERS {
        let detail = text(check(&checks, name), "detail");
        assert!(detail.starts_with("v1, ") || detail.starts_with("v2, "), "{name}: {detail}");
    }
    assert_eq!(groups_left_behind(), [""; 0]);
}

#[test]
fn mounts_of_probes_do_not_reach_the_host() {
    let before = mounts_on_proc();
    RepositoryTree::new().menace(["doctor"]).run().success();
    assert_eq!(mounts_on_proc(), before);
}

#[test]
fn an_unprivileged_user_has_namespaces_and_gets_a_remedy_for_cgroups() {
    if !is_root() {
        return;
    }
    let tree = RepositoryTree::new();
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let binary = directory.path().join("menace");
    fs::copy(menace_binary(), &binary).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    let command = format!("exec {0}/menace doctor --json --data-dir {0}/data", directory.path().display());
    let checks = MenaceInvocation::of("su", Path::new("/"), &tree.home())
        .arguments(["-s", "/bin/sh", "nobody", "-c", &command])
        .run()
        .success()
        .json();
    for name in REQUIRED {
        assert_eq!(check(&checks, name)["present"], true, "{}", check(&checks, name));
    }
    for name in CONTROLLERS {
        let check = check(&checks, name);
        assert_eq!(check["present"], false, "{check}");
        assert!(text(check, "detail").contains("Permission denied"), "{check}");
        assert!(text(check, "remedy").contains("Delegate=yes"), "{check}");
    }
    assert_eq!(check(&checks, "idmapped mounts")["present"], false);
}

#[test]
fn a_limit_of_no_user_namespaces_is_named_and_required() {
    if !host_can("user namespaces", "unshare", &["--user", "--map-root-user", "true"]) {
        return;
    }
    // The setting is per user namespace; the host keeps its own.
    let checks =
        doctor_after("echo 0 > /proc/sys/user/max_user_namespaces", &["--json"]).exits_with(1).json();
    for name in ["user namespace", "overlayfs", "tmpfs", "proc"] {
        let check = check(&checks, name);
        assert_eq!(check["present"], false, "{check}");
        assert!(text(check, "detail").contains("user.max_user_namespaces is 0"), "{check}");
        assert!(text(check, "remedy").starts_with("sysctl -w user.max_user_namespaces="), "{check}");
    }
    for name in ["mount namespace", "net namespace", "seccomp filter"] {
        assert_eq!(check(&checks, name)["present"], true, "{}", check(&checks, name));
    }
}

#[test]
fn a_namespace_limit_is_named_and_only_its_dependents_are_missing() {
    if !host_can("user namespaces", "unshare", &["--user", "--map-root-user", "true"]) {
        return;
    }
    let checks = doctor_after("echo 0 > /proc/sys/user/max_net_namespaces", &["--json"]).exits_with(1).json();
    for name in ["net namespace", "tun", "netem"] {
        let check = check(&checks, name);
        assert_eq!(check["present"], false, "{check}");
        assert!(text(check, "detail").contains("user.max_net_namespaces (0)"), "{check}");
    }
    for name in ["user namespace", "mount namespace", "overlayfs"] {
        assert_eq!(check(&checks, name)["present"], true, "{}", check(&checks, name));
    }
}

#[test]
fn a_table_says_missing() {
    if !host_can("user namespaces", "unshare", &["--user", "--map-root-user", "true"]) {
        return;
    }
    let outcome = doctor_after("echo 0 > /proc/sys/user/max_user_namespaces", &[]).exits_with(1);
    let is_said = |line: &str| {
        line.contains("MISSING") && line.contains("user namespace") && line.contains("max_user_namespaces=")
    };
    assert!(outcome.stdout.lines().any(is_said), "{}", outcome.stdout);
    for group in ["menace", "namespaces", "cgroups", "file systems", "restrictions", "devices", "tools"] {
        assert!(outcome.stdout.lines().any(|line| line.trim() == group), "{group}: {}", outcome.stdout);
    }
}

#[test]
fn an_engine_that_answers_is_docker() {
    let tree = RepositoryTree::new();
    let socket = tree.work().join("engine.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let engine = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = [0; 512];
        let length = connection.read(&mut request).unwrap();
        connection.write_all(b"HTTP/1.0 200 OK\r\nApi-Version: 1.43\r\n\r\nOK").unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let address = format!("unix://{}", socket.display());
    let checks = tree.menace(["doctor", "--json"]).variable("DOCKER_HOST", &address).run().success().json();
    assert!(engine.join().unwrap().starts_with("GET /_ping "));
    assert_eq!(check(&checks, "docker")["present"], true);
    assert!(text(check(&checks, "docker"), "detail").contains("1.43"));
    let elsewhere = tree.menace(["doctor", "--json"]).variable("DOCKER_HOST", "unix:///nonexistent").run();
    assert_eq!(check(&elsewhere.success().json(), "docker")["present"], false);
}

#[test]
fn an_unknown_probe_is_wrong_usage() {
    RepositoryTree::new().menace(["__probe", "no such thing"]).run().exits_with(2);
}
