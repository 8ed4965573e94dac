//! menace itself in a container, as `scripts/` builds and runs it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use menace_tests::{RepositoryTree, docker_options, menace_binary, workspace_directory};

const BASE: &str = "menace-tests-base";
const IMAGE: &str = "menace-tests-itself";

/// Command with `DOCKER_HOST` set to the engine of the tests.
fn with_docker_host(host: &str, program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env("DOCKER_HOST", host).env("IMAGE", IMAGE).env("BASE", BASE).stdin(Stdio::null());
    command
}

#[track_caller]
fn output_of(command: &mut Command) -> String {
    let done = command.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success(),
        "{command:?}: {}\n{text}{}",
        done.status,
        String::from_utf8_lossy(&done.stderr)
    );
    text
}

/// Builds the image, with the binary stripped of debug information.
fn build(host: &str) {
    let directory = tempfile::tempdir().unwrap();
    let menace = directory.path().join("menace");
    output_of(Command::new("objcopy").arg("--strip-debug").arg(menace_binary()).arg(&menace));
    output_of(
        with_docker_host(host, "bash").arg(workspace_directory().join("tests/docker/base.sh")).arg(BASE),
    );
    let script = workspace_directory().join("scripts/build_sandbox_image.sh");
    output_of(with_docker_host(host, script).env("MENACE", menace));
}

fn run(host: &str) -> Command {
    with_docker_host(host, workspace_directory().join("scripts/run_sandbox_container.sh"))
}

const SHOP: &str = "def mean(prices: list[float]) -> float:\n    return sum(prices) / len(prices)\n";

#[test]
fn the_menace_image_builds_runs_under_limits_and_serves() {
    let Some(options) = docker_options() else { return };
    build(&options.host);
    let tree = RepositoryTree::with(&[("shop.py", SHOP), (".env", "SANDBOX_LOG_LEVEL=warn\n")]);
    let repository = tree.repository();
    let arguments = ["run", "repository", "--json", "--preset-count", "0"];
    let done = run(&options.host).args(arguments).current_dir(&repository).output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "the failing mean of an empty list is found: {text}");
    assert!(!text.contains("calling:"), ".env is read: {text}");
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let cells = report["cells"].as_array().unwrap();
    let called = |scenario: &str| {
        let of = |cell: &&serde_json::Value| cell["scenario"] == scenario && cell["n"].as_u64() > Some(0);
        cells.iter().any(|cell| of(&cell))
    };
    // The second one limits memory and CPU, for which control groups are needed.
    assert!(called("normal") && called("resource_strain"), "{cells:?}");
    assert!(repository.join("sandbox_data/menace.db").is_file(), "the results are in the mounted repository");
    serves(&options.host, &repository);
}

fn serves(host: &str, repository: &Path) {
    let name = format!("menace-tests-{}", std::process::id());
    let mut serving = run(host)
        .current_dir(repository)
        .env("DOCKER_RUN_OPTIONS", format!("--name {name}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ask =
        "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8888/healthz', timeout=4).status)";
    let deadline = Instant::now() + Duration::from_secs(40);
    loop {
        let done =
            with_docker_host(host, "docker").args(["exec", &name, "python3", "-c", ask]).output().unwrap();
        if done.stdout.trim_ascii() == b"200" {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "the container does not serve: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    let user = output_of(with_docker_host(host, "docker").args([
        "exec",
        &name,
        "sh",
        "-c",
        "cat /proc/[0-9]*/status | grep -A8 '^Name:.menace' | grep ^Uid",
    ]));
    assert!(!user.contains("\t0\t"), "the service must not run as root: {user}");
    output_of(with_docker_host(host, "docker").args(["stop", "--time", "20", &name]));
    assert!(serving.wait().unwrap().code().is_some());
    let left = output_of(with_docker_host(host, "docker").args([
        "ps",
        "--all",
        "--quiet",
        "--filter",
        &format!("name={name}"),
    ]));
    assert_eq!(left.trim(), "", "the container must be removed");
}
