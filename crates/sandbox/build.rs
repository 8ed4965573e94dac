//! Builds `menace-enter` as a shared library, which is embedded and loaded by the interpreters of zygotes.
//!
//! Cargo cannot embed a library of the same workspace (artifact dependencies are unstable), so it is called again, with
//! a target directory of its own: the outer one is locked by the build that runs this.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let workspace = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    for path in ["crates/enter/src", "crates/enter/Cargo.toml", "Cargo.lock", "harness"] {
        println!("cargo::rerun-if-changed={}", workspace.join(path).display());
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    // <target>/<profile>/build/<package>/out: one directory serves all profiles.
    let target =
        out.ancestors().nth(4).expect("cargo puts OUT_DIR below the target directory").join("library");
    let status = Command::new(variable("CARGO"))
        .args(["rustc", "--quiet", "--package", "menace-enter", "--lib", "--crate-type", "cdylib"])
        .args([
            "--profile",
            "library",
            "--features",
            "library",
            "--target",
            &variable("TARGET"),
            "--target-dir",
        ])
        .arg(&target)
        .current_dir(&workspace)
        // What the outer build was told about its own crates does not concern this one, and wrappers such as clippy's
        // would make it a check.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .status()
        .expect("cargo runs this script and can be run again");
    assert!(status.success(), "menace-enter could not be built as a shared library");
    let library = target.join(variable("TARGET")).join("library/libmenace_enter.so");
    std::fs::copy(&library, out.join("libmenace_enter.so")).expect("the library was just built");
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
