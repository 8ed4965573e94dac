//! menace itself in a container, as `scripts/` builds and runs it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use menace_tests::{Tree, docker_options, menace_binary, workspace_directory};

const BASE: &str = "menace-tests-base";
const IMAGE: &str = "menace-tests-itself";

/// A program that asks the engine of the tests.
fn asking(host: &str, program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env("DOCKER_HOST", host).env("IMAGE", IMAGE).env("BASE", BASE).stdin(Stdio::null());
    command
}

#[track_caller]
fn said(command: &mut Command) -> String {
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

/// Builds the image, of the program without what only debuggers read.
fn build(host: &str) {
    let directory = tempfile::tempdir().unwrap();
    let menace = directory.path().join("menace");
    said(Command::new("objcopy").arg("--strip-debug").arg(menace_binary()).arg(&menace));
    said(asking(host, "bash").arg(workspace_directory().join("tests/docker/base.sh")).arg(BASE));
    let script = workspace_directory().join("scripts/build_sandbox_image.sh");
    said(asking(host, script).env("MENACE", menace));
}

fn run(host: &str) -> Command {
    asking(host, workspace_directory().join("scripts/run_sandbox_container.sh"))
}

const SHOP: &str = "def mean(prices: list[float]) -> float:\n    return sum(prices) / len(prices)\n";

#[test]
fn the_image_of_menace_is_built_calls_code_under_limits_and_serves() {
    let Some(options) = docker_options() else { return };
    build(&options.host);
    let tree = Tree::with(&[("shop.py", SHOP), (".env", "SANDBOX_LOG_LEVEL=warn\n")]);
    let repository = tree.repository();
    let arguments = ["run", "repository", "--json", "--preset-count", "0"];
    let done = run(&options.host).args(arguments).current_dir(&repository).output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "it finds that a mean of nothing fails: {text}");
    assert!(!text.contains("calling:"), ".env is read: {text}");
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let cells = report["cells"].as_array().unwrap();
    let called = |scenario: &str| {
        let of = |cell: &&serde_json::Value| cell["scenario"] == scenario && cell["n"].as_u64() > Some(0);
        cells.iter().any(|cell| of(&cell))
    };
    // The second one takes memory and processors away, which control groups do.
    assert!(called("normal") && called("resource_strain"), "{cells:?}");
    assert!(repository.join("sandbox_data/menace.db").is_file(), "what is measured is here");
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
        let done = asking(host, "docker").args(["exec", &name, "python3", "-c", ask]).output().unwrap();
        if done.stdout.trim_ascii() == b"200" {
            break;
        }
        assert!(Instant::now() < deadline, "it does not serve: {}", String::from_utf8_lossy(&done.stderr));
        std::thread::sleep(Duration::from_millis(100));
    }
    let user = said(asking(host, "docker").args([
        "exec",
        &name,
        "sh",
        "-c",
        "cat /proc/[0-9]*/status | grep -A8 '^Name:.menace' | grep ^Uid",
    ]));
    assert!(!user.contains("\t0\t"), "it is not root: {user}");
    said(asking(host, "docker").args(["stop", "--time", "20", &name]));
    assert!(serving.wait().unwrap().code().is_some());
    let left =
        said(asking(host, "docker").args(["ps", "--all", "--quiet", "--filter", &format!("name={name}")]));
    assert_eq!(left.trim(), "", "nothing is left of it");
}
