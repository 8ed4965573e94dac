//! A test as an unprivileged user: root's test executable starts itself again as nobody, for one test.
//!
//! What root can read is not what nobody can: the executables of the tests and of menace may lie in a directory that
//! only root can enter. So the one is started through `/proc/self/exe`, and the other is passed on as an open file.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use rustix::io::{FdFlags, fcntl_setfd};

use crate::binary::{BINARY_VARIABLE, menace_binary};

/// Set for the executable that was started again.
const INNER_VARIABLE: &str = "MENACE_TESTS_AS_NOBODY";

/// The user and group nobody.
const NOBODY: u32 = 65534;

/// Runs the body of a test as whoever runs the tests.
pub fn as_caller(_test: &str, body: impl FnOnce()) {
    body();
}

/// Runs the body of a test as nobody: in the test executable that is started for it if root runs the tests, else not at
/// all, because then the caller is as unprivileged as nobody is. `test` is the path of the test with its crate.
pub fn as_nobody(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INNER_VARIABLE).is_some() {
        assert_eq!(rustix::process::geteuid().as_raw(), NOBODY, "this should be the run as nobody");
        return body();
    }
    if !rustix::process::geteuid().is_root() {
        return cannot_become_nobody(test);
    }
    let (_crate, name) = test.split_once("::").expect("a test is in a crate");
    let output = run_again(name);
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "as nobody: {}\n{stdout}\n{stderr}",
        output.status
    );
}

#[expect(clippy::print_stderr, reason = "a test says what it does not test")]
fn cannot_become_nobody(test: &str) {
    assert!(std::env::var_os("CI").is_none(), "{test} needs root, to become nobody");
    eprintln!(
        "skipped: {test} needs root, to become nobody; the same case without rootless is as unprivileged"
    );
}

/// One test of this executable, with a directory for temporary files that nobody owns.
fn run_again(name: &str) -> Output {
    let directory = tempfile::Builder::new().prefix("menace-nobody-").tempdir().expect("files can be made");
    let home = directory.path().join("home");
    fs::create_dir(&home).expect("it is a new directory");
    for path in [directory.path(), &home] {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("root can give away its files");
    }
    let menace = File::open(menace_binary()).expect("the binary was built");
    fcntl_setfd(&menace, FdFlags::empty()).expect("it is an open file");
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
