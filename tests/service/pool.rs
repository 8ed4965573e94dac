//! The service with containers that wait, and what is left of it when it is killed.

use std::process::Command;
use std::time::{Duration, Instant};

use menace_sandbox::docker::DockerOptions;
use menace_tests::{Invocation, Outcome, Server, docker_options};
use serde_json::{Value, json};

/// How long something is given to happen that should happen soon.
const PATIENCE: Duration = Duration::from_secs(30);

fn variables(options: &DockerOptions) -> Vec<(&str, &str)> {
    vec![
        ("DOCKER_HOST", options.host.as_str()),
        ("MENACE_SANDBOX_IMAGE", options.image.as_str()),
        ("SANDBOX_POOL_SIZE", "1"),
    ]
}

/// Waits until the metrics have a line; what they say then.
fn until_metrics(server: &Server, line: &str) -> String {
    let began = Instant::now();
    loop {
        let text = server.ask("GET", "/metrics").text();
        if text.lines().any(|written| written.starts_with(line)) {
            return text;
        }
        let log = std::fs::read_to_string(server.directory.path().join("keeper.log")).unwrap_or_default();
        assert!(began.elapsed() < PATIENCE, "{line} is missing in\n{text}\n{log}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The sandboxes of containers that are there, by what the data directory says.
fn active(server: &Server) -> Vec<String> {
    let text = std::fs::read_to_string(server.directory.path().join("active_containers.json")).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    written["containers"].as_object().unwrap().keys().cloned().collect()
}

/// Whether the engine has the container of a sandbox.
fn is_there(options: &DockerOptions, id: &str) -> bool {
    let filter = format!("label=menace.sandbox={id}");
    let mut command = Command::new("docker");
    command.args(["--host", &options.host, "ps", "--all", "--quiet", "--filter", &filter]);
    !command.output().unwrap().stdout.is_empty()
}

fn kill_keeper(server: &Server) {
    let keeper = rustix::process::Pid::from_raw(*server.keepers().iter().min().unwrap()).unwrap();
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
    let began = Instant::now();
    while server.keepers().contains(&keeper.as_raw_nonzero().get()) {
        assert!(began.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

fn menace(server: &Server, options: &DockerOptions, arguments: &[&str]) -> Outcome {
    let directory = server.directory.path();
    Invocation::new(directory, directory)
        .arguments(arguments)
        .arguments(["--data-dir".as_ref(), directory.as_os_str()])
        .variable("DOCKER_HOST", &options.host)
        .run()
}

#[test]
fn a_sandbox_waits_before_it_is_asked_for_and_a_killed_keeper_leaves_nothing() {
    let Some(options) = docker_options() else { return };
    let server = Server::with_variables(&["--backend", "docker"], &variables(&options));
    let waits = format!("pooled_container_count{{image=\"{}\"}} 1", options.image);
    until_metrics(&server, &waits);
    let waiting = active(&server);
    let sandbox = server.sandbox(&json!({ "memory_limit": "128m" }));
    let id = sandbox.rsplit('/').next().unwrap().to_owned();
    assert_eq!(vec![id.clone()], waiting, "it is the one that waited");
    let hungry = "python3 -c 'b = bytearray(300 << 20); print(len(b))'";
    assert_eq!(server.shell(&sandbox, hungry)["oom"], true, "and has the limit that was asked for");
    let changed = server.send("PATCH", &sandbox, &json!({ "memory_limit": "512m", "labels": { "a": "b" } }));
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(server.ask("POST", &format!("{sandbox}/pause")).status, 200);
    until_metrics(&server, &waits);
    let left: Vec<String> = active(&server).into_iter().filter(|one| *one != id).collect();
    assert!(!left.is_empty() && left.iter().all(|one| is_there(&options, one)), "{left:?}");
    kill_keeper(&server);
    let known = server.ask("GET", &sandbox).json();
    assert_eq!((&known["status"], &known["labels"]["a"]), (&json!("paused"), &json!("b")), "{known}");
    assert_eq!(known["resource_limits"]["memory_limit"], "512m");
    assert_eq!(server.ask("POST", &format!("{sandbox}/resume")).status, 200);
    assert_eq!(server.shell(&sandbox, hungry)["stdout"], "314572800\n");
    let metrics = until_metrics(&server, "stale_containers_removed 1");
    assert!(metrics.contains("cleanup_volume 1"), "{metrics}");
    assert!(left.iter().all(|one| !is_there(&options, one)), "what waited for the killed one is gone");
    assert_eq!(server.ask("POST", &format!("{sandbox}/stop")).status, 200);
    kill_keeper(&server);
    assert_eq!(server.ask("GET", &sandbox).json()["status"], "stopped");
    assert_eq!(server.ask("POST", &format!("{sandbox}/start")).status, 200);
    assert_eq!(server.shell(&sandbox, "echo again")["stdout"], "again\n");
}

#[test]
fn what_cannot_be_made_is_told_and_counted() {
    let Some(options) = docker_options() else { return };
    let mut variables = variables(&options);
    variables.extend([("MENACE_SANDBOX_IMAGE", "no-such-image:2"), ("SANDBOX_POOL_CLEANUP_INTERVAL", "0.2")]);
    let server = Server::with_variables(&["--backend", "docker"], &variables);
    let mut happened = server.events("/api/events", &[]);
    let event = happened.next().unwrap();
    assert_eq!(event.name, "container.creation_failed");
    assert!(event.data["detail"].as_str().unwrap().contains("no-such-image:2"), "{:?}", event.data);
    let metrics = until_metrics(&server, "container_creation_alerts_total{image=\"no-such-image:2\"}");
    assert!(metrics.contains("container_backoff_base "), "{metrics}");
    until_metrics(&server, "cleanup_duration_seconds{worker=\"cleanup\"}");
    until_metrics(&server, "cleanup_duration_seconds_reaper");
    let failures = server.directory.path().join("pool_failures.json");
    assert!(std::fs::read_to_string(failures).unwrap().contains("\"consecutive\""));
}

#[test]
fn more_containers_than_there_may_be_are_refused() {
    let Some(options) = docker_options() else { return };
    let mut variables = variables(&options);
    variables.push(("SANDBOX_MAX_CONTAINER_COUNT", "1"));
    let server = Server::with_variables(&["--backend", "docker"], &variables);
    let sandbox = server.sandbox(&json!({}));
    let refused = server.send("POST", "/api/sandboxes", &json!({}));
    assert_eq!(
        (refused.status, refused.code()),
        (503, "too_many_sandboxes".to_owned()),
        "{}",
        refused.text()
    );
    assert!(refused.text().contains("SANDBOX_MAX_CONTAINER_COUNT"), "{}", refused.text());
    until_metrics(&server, "active_container_limit_reached 1");
    assert_eq!(server.ask("DELETE", &sandbox).status, 204);
    server.sandbox(&json!({}));
}

#[test]
fn a_container_whose_files_grow_too_large_is_destroyed() {
    let Some(options) = docker_options() else { return };
    let mut variables = variables(&options);
    variables.extend([
        ("SANDBOX_CONTAINER_DISK_LIMIT", "1m"),
        ("SANDBOX_POOL_CLEANUP_INTERVAL", "0.2"),
        ("SANDBOX_CONTAINER_USER", "1234"),
    ]);
    let server = Server::with_variables(&["--backend", "docker"], &variables);
    let (large, small) = (server.sandbox(&json!({})), server.sandbox(&json!({})));
    assert_eq!(server.shell(&small, "id -u")["stdout"], "1234\n");
    server.shell(&large, "head -c 3000000 /dev/zero > file");
    until_metrics(&server, "cleanup_disk 1");
    assert_eq!(server.ask("GET", &large).status, 404);
    assert_eq!(server.shell(&small, "echo stays")["stdout"], "stays\n");
}

#[test]
fn what_is_left_of_a_killed_service_is_found_and_removed_from_the_shell() {
    let Some(options) = docker_options() else { return };
    let mut server = Server::with_variables(&["--backend", "docker"], &variables(&options));
    let waits = format!("pooled_container_count{{image=\"{}\"}} 1", options.image);
    until_metrics(&server, &waits);
    let sandbox = server.sandbox(&json!({}));
    let id = sandbox.rsplit('/').next().unwrap().to_owned();
    until_metrics(&server, &waits);
    let running = menace(&server, &options, &["--cleanup", "--json"]).success().json();
    assert_eq!(running["removed"]["containers"], 0, "a server runs: {running}");
    assert_eq!(server.shell(&sandbox, "echo alive")["stdout"], "alive\n");
    let left: Vec<String> = active(&server).into_iter().filter(|one| *one != id).collect();
    server.kill_all();
    let found = menace(&server, &options, &["check-resources", "--json"]).exits_with(1).json();
    let of = |name: &str, found: &Value| {
        let rows = found["resources"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["resource"] == name).unwrap()
    };
    assert_eq!(of("containers", &found)["stale"], left.len(), "{found}");
    assert_eq!(of("containers", &found)["in_use"], 1, "the next server takes that one over: {found}");
    let purged = menace(&server, &options, &["--purge-stale", "--json"]).success().json();
    assert_eq!(purged["removed"]["containers"], left.len(), "{purged}");
    assert!(is_there(&options, &id) && left.iter().all(|one| !is_there(&options, one)));
    let cleaned = menace(&server, &options, &["--cleanup", "--json"]).success().json();
    assert_eq!(cleaned["removed"]["containers"], 1, "{cleaned}");
    assert!(!is_there(&options, &id));
    let found = menace(&server, &options, &["check-resources", "--json"]).success().json();
    assert_eq!(
        (&of("containers", &found)["stale"], &of("containers", &found)["removed_last"]),
        (&json!(0), &json!(1))
    );
}

#[test]
fn an_engine_that_is_wanted_and_silent_is_an_error_and_the_rest_is_cleaned() {
    let directory = tempfile::tempdir().unwrap();
    let overlay = directory.path().join("data/overlays/one");
    std::fs::create_dir_all(&overlay).unwrap();
    std::fs::write(overlay.join(".menace-overlay"), "").unwrap();
    let run = |arguments: &[&str]| {
        Invocation::new(directory.path(), directory.path())
            .arguments(arguments)
            .arguments(["--data-dir", "data"])
            .variable("DOCKER_HOST", "unix:///nowhere/docker.sock")
            .run()
    };
    run(&["--purge-stale"]).exits_with(3).says(&["/nowhere/docker.sock"]);
    assert!(overlay.exists(), "it is not old");
    run(&["--cleanup"]).exits_with(3);
    assert!(!overlay.exists());
    run(&["check-resources"]).exits_with(3);
}

#[test]
fn units_are_written_and_those_of_others_are_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        Invocation::new(directory.path(), directory.path())
            .arguments(["install-autopurge"])
            .arguments(arguments)
            .run()
    };
    run(&["--print"]).success().shows(&["--purge-stale", "OnCalendar=hourly", "0 * * * *"]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "it is only shown");
    run(&["--unit-dir", "units"]).success();
    // systemd's own opinion of what it would be given.
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "units/sandbox_autopurge.service", "units/sandbox_autopurge.timer"])
        .current_dir(directory.path())
        .output()
        .expect("systemd-analyze is there: script/bootstrap installs it");
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success() && !said.contains("sandbox_autopurge"), "{said}");
    let service = directory.path().join("units/sandbox_autopurge.service");
    assert!(std::fs::read_to_string(&service).unwrap().contains("--purge-stale"));
    std::fs::write(&service, "[Service]\n").unwrap();
    run(&["--unit-dir", "units"]).exits_with(2).says(&["hint: --force"]);
    run(&["--unit-dir", "units", "--force"]).success();
}
