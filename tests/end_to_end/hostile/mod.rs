//! Malicious trees: a scan of them ends in time, does not crash, and still reads the healthy file.

mod files;
mod large_counts;
mod links;
mod nesting;

use std::time::Duration;

use menace_tests::RepositoryTree;
use serde_json::Value;

/// Generous for an unoptimised build on a busy machine; a scan that hangs takes longer than any limit.
const WALL_LIMIT: Duration = Duration::from_secs(10);

/// A repository with one healthy file.
fn tree() -> RepositoryTree {
    RepositoryTree::with(&[("fine.py", "def fine(a):\n    return a.b\n")])
}

/// Scans it, with a cache and again from the cache, and finds the healthy file both times.
#[track_caller]
fn survive(tree: &RepositoryTree) -> Value {
    let scan = || tree.on_repository("scan", ["--json"]).wall_limit(WALL_LIMIT).run().success().json();
    let first = scan();
    let again = scan();
    for key in ["modules", "cycles", "orphans", "diagnostics"] {
        assert!(first[key] == again[key], "{key} differs in the second scan");
    }
    let fine = module(&first, "fine.py").expect("the healthy file is read");
    assert_eq!(fine["sections"][1]["name"], "fine");
    first
}

fn module<'a>(inventory: &'a Value, path: &str) -> Option<&'a Value> {
    inventory["modules"].as_array().unwrap().iter().find(|module| module["path"] == path)
}

fn diagnostics_of(inventory: &Value, path: &str) -> Vec<String> {
    let all = inventory["diagnostics"].as_array().unwrap().iter();
    all.filter(|it| it["path"] == path).map(|it| it["message"].as_str().unwrap().to_owned()).collect()
}
