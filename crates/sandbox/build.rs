//! Builds the two embedded artifacts: `menace-isolation` as a shared library, which the interpreters of zygotes load,
//! and `menace-guest` as a static program that depends on nothing in the container that it runs in.
//!
//! Cargo cannot embed the build products of its own workspace (artifact dependencies are unstable), so this script runs
//! cargo again with separate target directories: the outer target directory is locked by the build that runs this
//! script.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let workspace = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    for path in ["crates/isolation", "crates/guest", "crates/model", "Cargo.lock", "harness"] {
        println!("cargo::rerun-if-changed={}", workspace.join(path).display());
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    // <target>/<profile>/build/<package>/out: one directory serves all profiles.
    let target = out.ancestors().nth(4).expect("cargo puts OUT_DIR below the target directory");
    let library = build(
        &workspace,
        &target.join("library"),
        &[
            "rustc",
            "--package",
            "menace-isolation",
            "--lib",
            "--crate-type",
            "cdylib",
            "--features",
            "library",
        ],
        "",
    );
    copy(&library, &out, "libmenace_isolation.so");
    let program = build(
        &workspace,
        &target.join("guest"),
        &["build", "--package", "menace-guest", "--bin", "menace-guest"],
        "-Ctarget-feature=+crt-static",
    );
    copy(&program, &out, "menace-guest");
}

/// Builds with the profile `library` and returns the directory of the result.
fn build(workspace: &Path, target: &Path, arguments: &[&str], flags: &str) -> PathBuf {
    let status = Command::new(variable("CARGO"))
        .args(arguments)
        .args(["--quiet", "--profile", "library", "--target", &variable("TARGET"), "--target-dir"])
        .arg(target)
        .current_dir(workspace)
        // Flags of the outer build do not apply to this one, and wrappers such as clippy's would turn it into a check.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .env("RUSTFLAGS", flags)
        .status()
        .expect("cargo runs this script and can be run again");
    assert!(status.success(), "cargo {} failed", arguments.join(" "));
    target.join(variable("TARGET")).join("library")
}

fn copy(from: &Path, to: &Path, name: &str) {
    std::fs::copy(from.join(name), to.join(name)).expect("it was just built");
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
