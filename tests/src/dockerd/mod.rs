//! A dockerd for the tests only. nextest starts one process per test, and a daemon takes seconds to start: the first test
//! that needs it starts it under a supervisor script (`keeper.sh`), which ends it when no test has used it for a while.

mod image;

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use menace_sandbox::docker::{DockerOptions, import_image};

use crate::binary::profile_directory;

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// Name of the image that the tests use.
const IMAGE: &str = "menace-tests:latest";

const KEEPER: &str = include_str!("keeper.sh");

/// Options for the daemon of the tests, which lives at least as long as this process. `None` if this machine has no
/// dockerd or the caller may not start it, which is an error in CI and reported on stderr elsewhere.
pub fn docker_options() -> Option<DockerOptions> {
    static USE: OnceLock<Option<(File, DockerOptions)>> = OnceLock::new();
    USE.get_or_init(|| can_run_dockerd().then(start_or_join)).as_ref().map(|(_, options)| options.clone())
}

/// Runs the body of a test if a daemon is available.
pub fn with_docker(_test: &str, body: impl FnOnce()) {
    if docker_options().is_some() {
        body();
    }
}

#[expect(clippy::print_stderr, reason = "a test says what it does not test")]
fn can_run_dockerd() -> bool {
    let is_there = |program: &str| {
        let found = Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok()
    };
    let missing = ["dockerd", "busybox", "flock", "unshare"].into_iter().find(|program| !is_there(program));
    let problem = match missing {
        Some(program) => format!("{program} is missing: script/bootstrap installs it"),
        None if !rustix::process::geteuid().is_root() => "only root can start a dockerd".to_owned(),
        None => return true,
    };
    assert!(std::env::var_os("CI").is_none(), "the tests of the Docker backend cannot run: {problem}");
    eprintln!("skipped: {problem}");
    false
}

fn start_or_join() -> (File, DockerOptions) {
    let directory = directory();
    fs::create_dir_all(&directory).expect("the target directory is writable");
    let open = |name: &str| {
        let file = OpenOptions::new().create(true).append(true).open(directory.join(name));
        file.expect("the target directory is writable")
    };
    let (starting, using) = (open("start"), open("users"));
    starting.lock().expect("a file that this process opened can be locked");
    using.lock_shared().expect("a file that this process opened can be locked");
    let options = DockerOptions {
        host: format!("unix://{}", directory.join("docker.sock").display()),
        tls: None,
        image: IMAGE.to_owned(),
        owner: format!("tests-{}", std::process::id()),
    };
    if !answers(&directory) {
        remove_left_overs(&directory);
        start(&directory);
    }
    let has_image = directory.join("has_image");
    if !has_image.exists() {
        let root = image::root_archive(&directory);
        let imported = runtime().block_on(import_image(&options, &root, IMAGE));
        imported.expect("the image can be imported from files of this machine");
        fs::remove_file(root).expect("the archive was just written");
        fs::write(has_image, "").expect("the target directory is writable");
    }
    (using, options)
}

/// Directory of the daemon: short enough for a socket path, and not removed while the daemon is in use.
fn directory() -> PathBuf {
    profile_directory().join("dockerd")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made")
}

fn answers(directory: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(directory.join("docker.sock")).is_ok()
}

/// Removes files that a machine left behind when it was switched off.
fn remove_left_overs(directory: &Path) {
    for name in ["exec", "docker.sock", "pid", "log", "has_image"] {
        let path = directory.join(name);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        assert!(removed.is_ok() || !path.exists(), "{} is in the way: {removed:?}", path.display());
    }
}

/// Starts a daemon and its supervisor script. No process waits for it: it ends by itself and removes its files.
#[expect(clippy::zombie_processes, reason = "it outlives this process, and is waited for by the first one")]
fn start(directory: &Path) {
    let keeper = directory.join("keeper.sh");
    fs::write(&keeper, KEEPER).expect("the target directory is writable");
    // It outlives this process, and so would inherited descriptors, such as a lock that flock(1) passes to the tests.
    let script = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
        unshare --net --mount --propagation private --pid --fork --kill-child --mount-proc sh \"$1/keeper.sh\" \"$1\"
        find /sys/fs/cgroup -depth -type d -path '*/menace-tests-docker*' -exec rmdir {} + 2> /dev/null
        rm -rf \"$1\"/exec* \"$1/docker.sock\" \"$1/pid\" \"$1/has_image\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "keeper"]).arg(directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut keeper = command.spawn().expect("a shell can be started");
    let started = Instant::now();
    while !answers(directory) {
        let has_ended = keeper.try_wait().expect("it is a child of this process").is_some();
        let log = || fs::read_to_string(directory.join("log")).unwrap_or_default();
        assert!(!has_ended, "dockerd has ended:\n{}", log());
        assert!(started.elapsed() < PATIENCE, "dockerd does not answer:\n{}", log());
        std::thread::sleep(Duration::from_millis(100));
    }
}
