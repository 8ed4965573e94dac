//! `menace up`: supervised services.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use menace_tests::{MenaceInvocation, RepositoryTree, http, menace_binary};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

struct UpProcess {
    child: Child,
}

impl Drop for UpProcess {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn up(directory: &Path) -> UpProcess {
    started(
        Command::new(menace_binary()).args(["up", "--no-loop", "--port", "0", "--data-dir"]).arg(directory),
    )
}

fn started(command: &mut Command) -> UpProcess {
    UpProcess { child: command.stderr(Stdio::null()).spawn().unwrap() }
}

#[track_caller]
fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(40);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Address in the line with index `time` in which the server logged that it listens.
fn address(directory: &Path, time: usize) -> String {
    until("the server", || {
        let log = fs::read_to_string(directory.join("logs/serve.log")).ok()?;
        let mut said = log.lines().filter_map(|line| line.split_once("menace serves sandboxes at http://"));
        Some(said.nth(time)?.1.to_owned())
    })
}

/// Child processes of all threads of a process.
fn children(parent: u32) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).unwrap();
    threads
        .filter_map(|thread| fs::read_to_string(thread.unwrap().path().join("children")).ok())
        .flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .filter_map(Pid::from_raw)
        .collect()
}

fn is_gone(address: &str) -> Option<()> {
    std::net::TcpStream::connect(address).is_err().then_some(())
}

#[test]
fn killed_services_restart_and_all_stop_together() {
    let directory = tempfile::tempdir().unwrap();
    let mut up = up(directory.path());
    let first = address(directory.path(), 0);
    assert_eq!(http::ask(&first, "GET", "/healthz", &[], b"").status, 200);
    let second = MenaceInvocation::new(directory.path(), directory.path());
    second
        .arguments(["up", "--no-loop", "--data-dir"])
        .arguments([directory.path()])
        .run()
        .exits_with(2)
        .stderr_contains(&["is already running"]);
    for pid in children(up.child.id()) {
        kill_process(pid, Signal::KILL).unwrap();
    }
    let again = address(directory.path(), 1);
    assert_eq!(http::ask(&again, "GET", "/healthz", &[], b"").status, 200);
    kill_process(Pid::from_child(&up.child), Signal::INT).unwrap();
    assert!(up.child.wait().unwrap().success());
    until("the end of the server", || is_gone(&again));
}

const SHOP: &str = "def mean(prices: list[float]) -> float:\n    return sum(prices) / len(prices)\n\n\ndef first(words: str) -> str:\n    return words.split()[0]\n";

#[test]
fn an_interrupted_or_killed_run_is_resumed_to_its_end() {
    let tree = RepositoryTree::with(&[("shop.py", SHOP)]);
    let data = tree.work().join("data");
    let start = || {
        let mut command = Command::new(menace_binary());
        command.arg("up").arg(tree.repository()).args(["--no-serve", "--data-dir"]).arg(&data);
        started(command.current_dir(tree.work()).env("HOME", tree.home()).env("SANDBOX_CYCLES", "1"))
    };
    let calls = |time: usize| {
        until("calls", || {
            let log = fs::read_to_string(data.join("logs/loop.log")).ok()?;
            (log.lines().filter(|line| line.contains("calling")).count() > time).then_some(())
        });
    };
    let mut ended = start();
    calls(0);
    kill_process(Pid::from_child(&ended.child), Signal::INT).unwrap();
    assert!(ended.child.wait().unwrap().success());
    let mut killed = start();
    calls(1);
    let of_loop = children(killed.child.id());
    // A concurrent attempt to resume the same run is refused.
    let run = fs::read_dir(data.join("auto")).unwrap().next().unwrap().unwrap().file_name();
    let other =
        tree.menace(["auto", "--recover", run.to_str().unwrap(), "--data-dir"]).arguments([&data]).run();
    other.exits_with(2).stderr_contains(&["is still running"]);
    for pid in of_loop {
        kill_process(pid, Signal::KILL).unwrap();
    }
    calls(2);
    assert!(killed.child.wait().unwrap().success(), "the supervisor exits when the run has finished");
    let recovery: Value = serde_json::from_slice(&fs::read(data.join("recovery.json")).unwrap()).unwrap();
    assert_eq!(recovery["sandbox_restart_total"], 2, "{recovery}");
    assert_eq!(recovery["last_failure"]["reason"], "its process died");
    assert_eq!(fs::read_dir(data.join("auto")).unwrap().count(), 1, "there is only one run");
    let report = data.join("auto").join(run).join("report.json");
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert!(report["stopped"].is_string() && report["cycles"].as_array().unwrap().len() == 1, "{report}");
}

#[test]
fn services_exit_when_the_supervisor_exits() {
    let directory = tempfile::tempdir().unwrap();
    let mut up = up(directory.path());
    let address = address(directory.path(), 0);
    up.child.kill().unwrap();
    up.child.wait().unwrap();
    until("the end of the server", || is_gone(&address));
}

#[test]
fn recovery_and_audit_are_queried_from_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        MenaceInvocation::new(directory.path(), directory.path())
            .arguments(arguments)
            .arguments(["--data-dir", "."])
            .run()
    };
    run(&["recovery"]).success().stdout_contains(&["sandbox_restart_total    0", "none"]);
    let recovery = json!({"version": 1, "sandbox_restart_total": 3, "sandbox_last_failure_ts": 1_700_000_000.0,
        "last_failure": {"run": "r_1", "reason": "it died"}});
    fs::write(directory.path().join("recovery.json"), recovery.to_string()).unwrap();
    run(&["recovery"]).success().stdout_contains(&["3", "2023-11-14T22:13:20Z, r_1: it died"]);
    assert_eq!(run(&["recovery", "--json"]).json()["sandbox_restart_total"], 3);
    run(&["audit", "verify"]).exits_with(2).stderr_contains(&["no such file"]);
    run(&["synergy-trainer", "--run-once"]).success().stderr_contains(&["no synergy history yet"]);
    run(&["synergy-tools"]).exits_with(2).stderr_contains(&["hint: set EXPORT_SYNERGY_METRICS=1"]);
}
