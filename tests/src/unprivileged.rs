//! Tests as an unprivileged user: the test executable of root starts itself again as the user `nobody`, for one test.
//!
//! The user `nobody` cannot read everything that root can: the executables of the tests and of menace may be in a
//! directory that only root can enter. So the former is started through `/proc/self/exe`, and the latter is passed on as
//! an open file.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use rustix::io::{FdFlags, fcntl_setfd};

use crate::binary::{BINARY_VARIABLE, menace_binary};

/// Environment variable that is set for the restarted executable.
const INNER_VARIABLE: &str = "MENACE_TESTS_AS_NOBODY";

/// User and group id of `nobody`.
const NOBODY: u32 = 65534;

/// Runs the body of a test as the current user.
pub fn as_caller(_test: &str, body: impl FnOnce()) {
    body();
}

/// Runs the body of a test as the user `nobody`, in a restarted test executable. Skips the test if the current user is
/// not root, because then `as_caller` is already unprivileged. `test` is the path of the test with its crate.
pub fn as_unprivileged_user(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INNER_VARIABLE).is_some() {
        assert_eq!(
            rustix::process::geteuid().as_raw(),
            NOBODY,
            "the restarted test must run as the user nobody"
        );
        return body();
    }
    if !rustix::process::geteuid().is_root() {
        return skip_without_root(test);
    }
    let (_crate, name) = test.split_once("::").expect("a test is in a crate");
    let output = rerun_test_as_nobody(name);
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "as nobody: {}\n{stdout}\n{stderr}",
        output.status
    );
}

#[expect(clippy::print_stderr, reason = "a test says what it does not test")]
fn skip_without_root(test: &str) {
    assert!(std::env::var_os("CI").is_none(), "{test} needs root to switch to the user nobody");
    eprintln!(
        "skipped: {test} needs root to switch to the user nobody; the same case without rootless is as unprivileged"
    );
}

/// Runs one test of this executable as the user `nobody`, who owns its directory for temporary files.
fn rerun_test_as_nobody(name: &str) -> Output {
    let directory = tempfile::Builder::new()
        .prefix("menace-nobody-")
        .tempdir()
        .expect("the temporary directory is writable");
    let home = directory.path().join("home");
    fs::create_dir(&home).expect("a new directory is empty");
    for path in [directory.path(), &home] {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("root can give away its files");
    }
    let menace = File::open(menace_binary()).expect("the binary was built");
    fcntl_setfd(&menace, FdFlags::empty()).expect("the descriptor is open");
    let output = Command::new("/proc/self/exe")
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(INNER_VARIABLE, "1")
        .env(BINARY_VARIABLE, format!("/proc/self/fd/{}", menace.as_raw_fd()))
        .env("TMPDIR", directory.path())
        .env("HOME", home)
        .env_remove("XDG_RUNTIME_DIR")
        .current_dir(directory.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output();
    output.expect("an executable can start itself")
}
