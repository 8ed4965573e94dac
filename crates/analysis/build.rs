//! Sets the version of the facts cache to a hash of the analysis source, so that every change of the analysis
//! invalidates the cache without a manual version bump.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

fn main() {
    let mut hasher = DefaultHasher::new();
    for directory in ["src", "../model/src/inventory"] {
        println!("cargo::rerun-if-changed={directory}");
        hash_directory(Path::new(directory), &mut hasher);
    }
    println!("cargo::rustc-env=MENACE_ANALYSIS_FINGERPRINT={:016x}", hasher.finish());
}

fn hash_directory(directory: &Path, hasher: &mut DefaultHasher) {
    let mut entries: Vec<_> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            hash_directory(&path, hasher);
        } else {
            path.hash(hasher);
            fs::read(&path).unwrap_or_default().hash(hasher);
        }
    }
}
