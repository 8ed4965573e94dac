//! `SANDBOX_DOCKER=1 menace run`: each preset in a container, in which menace itself runs.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use menace_sandbox::docker::DockerOptions;
use menace_tests::{InvocationOutcome, MenaceInvocation, docker_options};
use serde_json::{Value, json};

/// Two presets, one of them with a small CPU share, and one whose limits no container can enforce.
const PRESETS: &str = r#"[
    {"SCENARIO_NAME": "normal"},
    {"SCENARIO_NAME": "hostile_input", "FAILURE_MODES": ["hostile_input"], "CPU_LIMIT": "0.5"},
    {"SCENARIO_NAME": "starved", "FAILURE_MODES": ["memory"], "MEMORY_LIMIT": "64Mi"}
]"#;

fn repository(home: &Path) {
    let code = "def half(number: int) -> float:\n    return 10 / number\n";
    fs::create_dir(home.join("repository")).unwrap();
    fs::write(home.join("repository/halves.py"), code).unwrap();
    fs::write(home.join("presets.json"), PRESETS).unwrap();
}

fn run(home: &Path, host: &str, image: &str) -> InvocationOutcome {
    MenaceInvocation::new(home, home)
        .arguments(["run", "repository", "--preset-file", "presets.json", "--only-these-presets", "--json"])
        .variable("SANDBOX_DOCKER", "1")
        .variable("DOCKER_HOST", host)
        .variable("MENACE_SANDBOX_IMAGE", image)
        .wall_limit(Duration::from_mins(4))
        .run()
}

/// Containers of runs that the engine has, by menace's labels.
fn left(options: &DockerOptions) -> String {
    use std::io::{Read, Write};
    let mut socket =
        std::os::unix::net::UnixStream::connect(options.host.trim_start_matches("unix://")).unwrap();
    let filter = "%7B%22label%22%3A%5B%22preset%22%5D%7D";
    write!(socket, "GET /containers/json?all=1&filters={filter} HTTP/1.0\r\nHost: engine\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer.split("\r\n\r\n").nth(1).unwrap_or_default().trim().to_owned()
}

#[test]
fn each_preset_runs_in_a_container_and_shares_one_history() {
    let Some(options) = docker_options() else { return };
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    repository(home);
    let ran = run(home, &options.host, &options.image);
    let report = ran.exits_with(1).json();
    assert_eq!(report["mode"], "full_environment");
    let states: Vec<&Value> = report["presets"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["measured", "measured", "void"], "{report}");
    assert!(report["presets"][2]["reason"].as_str().unwrap().contains("192 MiB"), "{report}");
    assert_eq!(report["diagnostics"], json!({}), "there are no diagnostics");
    let found = &report["presets"][0]["report"]["failures"][0];
    assert_eq!((&found["exception"], &found["path"]), (&json!("ZeroDivisionError"), &json!("halves.py")));

    let data = home.join("sandbox_data");
    let history: Value =
        serde_json::from_str(&fs::read_to_string(data.join("roi_history.json")).unwrap()).unwrap();
    assert_eq!(history["cycles"].as_array().unwrap().len(), 1);
    for (place, scenario) in [("01-normal", "normal"), ("02-hostile_input", "hostile_input")] {
        let inside = data.join("full_environment/round-1").join(place).join("roi_history.json");
        let inside: Value = serde_json::from_str(&fs::read_to_string(inside).unwrap()).unwrap();
        let level = &inside["scenarios"][scenario]["levels"][0];
        assert!(level.is_f64(), "{inside}");
        assert_eq!(&history["scenarios"][scenario]["levels"][0], level, "{history}");
    }
    assert!(!home.join("repository/sandbox_data").exists(), "the repository was written to");
    assert_eq!(left(&options), "[]", "a container is left");
}

#[test]
fn a_missing_engine_is_retried_and_then_reported() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    repository(home);
    fs::write(home.join("presets.json"), r#"[{"SCENARIO_NAME": "normal"}]"#).unwrap();
    let began = Instant::now();
    let ran = run(home, "unix:///nowhere/docker.sock", "any");
    // Back-off delays of 0.5 s, 1 s and 2 s.
    assert!(began.elapsed() >= Duration::from_millis(3500), "{:?}", began.elapsed());
    let report = ran.exits_with(3).json();
    let error = report["diagnostics"]["docker_error"].as_str().unwrap();
    assert!(error.contains("/nowhere/docker.sock") && error.contains("hint: start dockerd"), "{error}");
    assert_eq!(
        (&report["presets"][0]["state"], &report["presets"][0]["attempts"]),
        (&json!("failed"), &json!(4))
    );
    assert_eq!(report["roi"], Value::Null);
    assert!(!home.join("sandbox_data/roi_history.json").exists(), "nothing was measured");
}

#[test]
fn a_missing_image_is_not_retried() {
    let Some(options) = docker_options() else { return };
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    repository(home);
    fs::write(home.join("presets.json"), r#"[{"SCENARIO_NAME": "normal"}]"#).unwrap();
    let report = run(home, &options.host, "no-such-image:1").exits_with(3).json();
    let error = report["diagnostics"]["docker_error"].as_str().unwrap();
    assert!(error.contains("no-such-image:1") && error.contains("hint: docker pull"), "{error}");
    assert_eq!(report["presets"][0]["attempts"], 1);
}
