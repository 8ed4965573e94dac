//! Location of the binary under test, which is built if it is missing or stale.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// Environment variable with the path of a binary to use without building it.
pub(crate) const BINARY_VARIABLE: &str = "MENACE_BINARY";

/// Path of the binary `menace` of the profile that the tests were built with, never older than its source; or the
/// path in `MENACE_BINARY`, which is not rebuilt.
pub fn menace_binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(named) = std::env::var_os(BINARY_VARIABLE) {
            return PathBuf::from(named);
        }
        let binary = profile_directory().join(format!("menace{}", std::env::consts::EXE_SUFFIX));
        build_if_stale(&binary);
        binary
    })
}

/// The root of the repository.
pub fn workspace_directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is in a directory of the workspace")
}

/// `target/debug` for a test executable in `target/debug/deps`.
pub(crate) fn profile_directory() -> PathBuf {
    let executable = std::env::current_exe().expect("a running process knows its executable");
    let deps = executable.parent().expect("an executable is in a directory");
    deps.parent().expect("cargo puts test executables two levels below the target directory").to_owned()
}

/// Builds the binary if it is older than its source. nextest starts one process per test: the lock makes one of them
/// build, and the stamp tells the others that it has.
fn build_if_stale(binary: &Path) {
    if is_fresh(binary) {
        return;
    }
    let lock = File::create(profile_directory().join("menace-tests.lock"))
        .expect("the target directory is writable");
    lock.lock().expect("a file that this process opened can be locked");
    if !is_fresh(binary) {
        build();
        fs::write(stamp(), "").expect("the target directory is writable");
    }
}

/// Path of the stamp that records the last build: cargo does not touch the binary if a changed file does not affect it.
fn stamp() -> PathBuf {
    profile_directory().join("menace-tests.stamp")
}

fn is_fresh(binary: &Path) -> bool {
    let Some(built) = modified(binary).max(modified(binary).and(modified(&stamp()))) else { return false };
    let workspace = workspace_directory();
    let manifests = [workspace.join("Cargo.toml"), workspace.join("Cargo.lock")];
    let newest = manifests
        .iter()
        .filter_map(|path| modified(path))
        .chain(newest_below(&workspace.join("crates")))
        .chain(newest_below(&workspace.join("ui/dist")))
        .max();
    newest.is_none_or(|newest| newest <= built)
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn newest_below(directory: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(directory).ok()?;
    let newest = |path: PathBuf| if path.is_dir() { newest_below(&path) } else { modified(&path) };
    entries.filter_map(|entry| newest(entry.ok()?.path())).max()
}

fn build() {
    let profile_directory = profile_directory();
    let profile = match profile_directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let target_directory = profile_directory.parent().expect("a profile is inside a target directory");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--package", "menace-cli", "--profile", profile, "--target-dir"])
        .arg(target_directory)
        .current_dir(workspace_directory())
        .status()
        .expect("cargo is installed where its tests run");
    assert!(status.success(), "cargo could not build the binary under test");
}
