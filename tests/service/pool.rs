//! The service with a container pool, and clean-up after it was killed.

use std::process::Command;
use std::time::{Duration, Instant};

use menace_sandbox::docker::DockerOptions;
use menace_tests::{InvocationOutcome, MenaceInvocation, TestServer, docker_options};
use serde_json::{Value, json};

/// Deadline for things that should happen soon.
const PATIENCE: Duration = Duration::from_secs(30);

fn variables(options: &DockerOptions) -> Vec<(&str, &str)> {
    vec![
        ("DOCKER_HOST", options.host.as_str()),
        ("MENACE_SANDBOX_IMAGE", options.image.as_str()),
        ("SANDBOX_POOL_SIZE", "1"),
    ]
}

/// Waits until the metrics have a line, and returns them.
fn until_metrics(server: &TestServer, line: &str) -> String {
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

/// Sandboxes with containers, from the record in the data directory.
fn active(server: &TestServer) -> Vec<String> {
    let text = std::fs::read_to_string(server.directory.path().join("active_containers.json")).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    written["containers"].as_object().unwrap().keys().cloned().collect()
}

/// Whether the engine has the container of a sandbox.
fn has_container(options: &DockerOptions, id: &str) -> bool {
    let filter = format!("label=menace.sandbox={id}");
    let mut command = Command::new("docker");
    command.args(["--host", &options.host, "ps", "--all", "--quiet", "--filter", &filter]);
    !command.output().unwrap().stdout.is_empty()
}

fn kill_sandbox_daemon(server: &TestServer) {
    let daemon = rustix::process::Pid::from_raw(*server.sandbox_daemons().iter().min().unwrap()).unwrap();
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
    let began = Instant::now();
    while server.sandbox_daemons().contains(&daemon.as_raw_nonzero().get()) {
        assert!(began.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

fn menace(server: &TestServer, options: &DockerOptions, arguments: &[&str]) -> InvocationOutcome {
    let directory = server.directory.path();
    MenaceInvocation::new(directory, directory)
        .arguments(arguments)
        .arguments(["--data-dir".as_ref(), directory.as_os_str()])
        .variable("DOCKER_HOST", &options.host)
        .run()
}

#[test]
fn a_pooled_sandbox_is_used_and_a_killed_daemon_leaves_nothing() {
    let Some(options) = docker_options() else { return };
    let server = TestServer::with_variables(&["--backend", "docker"], &variables(&options));
    let waits = format!("pooled_container_count{{image=\"{}\"}} 1", options.image);
    until_metrics(&server, &waits);
    let waiting = active(&server);
    let sandbox = server.sandbox(&json!({ "memory_limit": "128m" }));
    let id = sandbox.rsplit('/').next().unwrap().to_owned();
    assert_eq!(vec![id.clone()], waiting, "the sandbox is the pooled one");
    let hungry = "python3 -c 'b = bytearray(300 << 20); print(len(b))'";
    assert_eq!(server.shell(&sandbox, hungry)["oom"], true, "the sandbox has the requested limit");
    let changed = server.send("PATCH", &sandbox, &json!({ "memory_limit": "512m", "labels": { "a": "b" } }));
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(server.ask("POST", &format!("{sandbox}/pause")).status, 200);
    until_metrics(&server, &waits);
    let left: Vec<String> = active(&server).into_iter().filter(|one| *one != id).collect();
    assert!(!left.is_empty() && left.iter().all(|one| has_container(&options, one)), "{left:?}");
    kill_sandbox_daemon(&server);
    let known = server.ask("GET", &sandbox).json();
    assert_eq!((&known["status"], &known["labels"]["a"]), (&json!("paused"), &json!("b")), "{known}");
    assert_eq!(known["resource_limits"]["memory_limit"], "512m");
    assert_eq!(server.ask("POST", &format!("{sandbox}/resume")).status, 200);
    assert_eq!(server.shell(&sandbox, hungry)["stdout"], "314572800\n");
    let metrics = until_metrics(&server, "stale_containers_removed 1");
    assert!(metrics.contains("cleanup_volume 1"), "{metrics}");
    assert!(
        left.iter().all(|one| !has_container(&options, one)),
        "the pooled containers of the killed daemon are gone"
    );
    assert_eq!(server.ask("POST", &format!("{sandbox}/stop")).status, 200);
    kill_sandbox_daemon(&server);
    assert_eq!(server.ask("GET", &sandbox).json()["status"], "stopped");
    assert_eq!(server.ask("POST", &format!("{sandbox}/start")).status, 200);
    assert_eq!(server.shell(&sandbox, "echo again")["stdout"], "again\n");
}

#[test]
fn pool_failures_are_reported_and_counted() {
    let Some(options) = docker_options() else { return };
    let mut variables = variables(&options);
    variables.extend([("MENACE_SANDBOX_IMAGE", "no-such-image:2"), ("SANDBOX_POOL_CLEANUP_INTERVAL", "0.2")]);
    let server = TestServer::with_variables(&["--backend", "docker"], &variables);
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
fn containers_beyond_the_limit_are_refused() {
    let Some(options) = docker_options() else { return };
    let mut variables = variables(&options);
    variables.push(("SANDBOX_MAX_CONTAINER_COUNT", "1"));
    let server = TestServer::with_variables(&["--backend", "docker"], &variables);
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
fn a_container_over_its_disk_limit_is_destroyed() {
    let Some(options) = docker_options() else { return };
    let mut variables = variables(&options);
    variables.extend([
        ("SANDBOX_CONTAINER_DISK_LIMIT", "1m"),
        ("SANDBOX_POOL_CLEANUP_INTERVAL", "0.2"),
        ("SANDBOX_CONTAINER_USER", "1234"),
    ]);
    let server = TestServer::with_variables(&["--backend", "docker"], &variables);
    let (large, small) = (server.sandbox(&json!({})), server.sandbox(&json!({})));
    assert_eq!(server.shell(&small, "id -u")["stdout"], "1234\n");
    server.shell(&large, "head -c 3000000 /dev/zero > file");
    until_metrics(&server, "cleanup_disk 1");
    assert_eq!(server.ask("GET", &large).status, 404);
    assert_eq!(server.shell(&small, "echo stays")["stdout"], "stays\n");
}

#[test]
fn clean_up_removes_stale_resources_of_a_killed_service() {
    let Some(options) = docker_options() else { return };
    let mut server = TestServer::with_variables(&["--backend", "docker"], &variables(&options));
    let waits = format!("pooled_container_count{{image=\"{}\"}} 1", options.image);
    until_metrics(&server, &waits);
    let sandbox = server.sandbox(&json!({}));
    let id = sandbox.rsplit('/').next().unwrap().to_owned();
    until_metrics(&server, &waits);
    let running = menace(&server, &options, &["--cleanup", "--json"]).success().json();
    assert_eq!(running["removed"]["containers"], 0, "nothing is removed while a server runs: {running}");
    assert_eq!(server.shell(&sandbox, "echo alive")["stdout"], "alive\n");
    let left: Vec<String> = active(&server).into_iter().filter(|one| *one != id).collect();
    server.kill_all();
    let found = menace(&server, &options, &["check-resources", "--json"]).exits_with(1).json();
    let of = |name: &str, found: &Value| {
        let rows = found["resources"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["resource"] == name).unwrap()
    };
    assert_eq!(of("containers", &found)["stale"], left.len(), "{found}");
    assert_eq!(of("containers", &found)["in_use"], 1, "the next server adopts it: {found}");
    let purged = menace(&server, &options, &["--purge-stale", "--json"]).success().json();
    assert_eq!(purged["removed"]["containers"], left.len(), "{purged}");
    assert!(has_container(&options, &id) && left.iter().all(|one| !has_container(&options, one)));
    let cleaned = menace(&server, &options, &["--cleanup", "--json"]).success().json();
    assert_eq!(cleaned["removed"]["containers"], 1, "{cleaned}");
    assert!(!has_container(&options, &id));
    let found = menace(&server, &options, &["check-resources", "--json"]).success().json();
    assert_eq!(
        (&of("containers", &found)["stale"], &of("containers", &found)["removed_last"]),
        (&json!(0), &json!(1))
    );
}

#[test]
fn a_silent_required_engine_is_an_error_and_the_rest_is_cleaned_up() {
    let directory = tempfile::tempdir().unwrap();
    let overlay = directory.path().join("data/overlays/one");
    std::fs::create_dir_all(&overlay).unwrap();
    std::fs::write(overlay.join(".menace-overlay"), "").unwrap();
    let run = |arguments: &[&str]| {
        MenaceInvocation::new(directory.path(), directory.path())
            .arguments(arguments)
            .arguments(["--data-dir", "data"])
            .variable("DOCKER_HOST", "unix:///nowhere/docker.sock")
            .run()
    };
    run(&["--purge-stale"]).exits_with(3).stderr_contains(&["/nowhere/docker.sock"]);
    assert!(overlay.exists(), "a recent overlay must not be removed");
    run(&["--cleanup"]).exits_with(3);
    assert!(!overlay.exists());
    run(&["check-resources"]).exits_with(3);
}

#[test]
fn systemd_units_are_written_and_foreign_ones_are_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        MenaceInvocation::new(directory.path(), directory.path())
            .arguments(["install-autopurge"])
            .arguments(arguments)
            .run()
    };
    run(&["--print"]).success().stdout_contains(&["--purge-stale", "OnCalendar=hourly", "0 * * * *"]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "--print must not write files");
    run(&["--unit-dir", "units"]).success();
    // Verified by systemd itself.
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "units/sandbox_autopurge.service", "units/sandbox_autopurge.timer"])
        .current_dir(directory.path())
        .output()
        .expect("script/bootstrap installs systemd-analyze");
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success() && !said.contains("sandbox_autopurge"), "{said}");
    let service = directory.path().join("units/sandbox_autopurge.service");
    assert!(std::fs::read_to_string(&service).unwrap().contains("--purge-stale"));
    std::fs::write(&service, "[Service]\n").unwrap();
    run(&["--unit-dir", "units"]).exits_with(2).stderr_contains(&["hint: --force"]);
    run(&["--unit-dir", "units", "--force"]).success();
}
