//! `menace doctor`: present features, missing features, remedies.

use std::fs;

use menace_tests::RepositoryTree;
use serde_json::Value;

fn check<'a>(checks: &'a Value, name: &str) -> &'a Value {
    checks.as_array().unwrap().iter().find(|check| check["name"] == name).unwrap()
}

#[test]
fn a_healthy_machine_ends_with_zero_and_nothing_is_left_behind() {
    let tree = RepositoryTree::new();
    let checks = tree.menace(["doctor", "--json"]).run().success().json();
    for name in ["data directory", "scan cache", "git"] {
        let check = check(&checks, name);
        for field in ["required", "present"] {
            assert!(check[field].is_boolean(), "{check}");
        }
        for field in ["detail", "purpose", "remedy"] {
            assert!(!check[field].as_str().unwrap().is_empty(), "{check}");
        }
    }
    assert_eq!(check(&checks, "data directory")["present"], true);
    assert_eq!(fs::read_dir(tree.work()).unwrap().count(), 0);
}

#[test]
fn a_data_directory_that_cannot_be_created_is_missing() {
    let tree = RepositoryTree::new();
    tree.write_in_work("occupied", "a file\n");
    for directory in ["/proc/menace-cannot-write-here", "occupied", "occupied/below"] {
        let outcome = tree.menace(["doctor", "--json", "--data-dir", directory]).run().exits_with(1);
        assert_eq!(check(&outcome.json(), "data directory")["present"], false, "{directory}");
    }
}

#[test]
fn missing_features_come_with_a_remedy() {
    let outcome = RepositoryTree::new().menace(["doctor", "--data-dir", "/proc/none"]).run().exits_with(1);
    assert!(
        outcome.stdout.contains("MISSING") && outcome.stdout.contains("SANDBOX_DATA_DIR"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn without_a_home_there_is_no_cache_and_no_failure() {
    let tree = RepositoryTree::with(&[("a.py", "x = 1\n")]);
    let homeless = |arguments: &[&str]| {
        let invocation = tree.menace(arguments.iter().copied());
        invocation.without_variable("HOME").without_variable("XDG_CACHE_HOME").run().success()
    };
    assert_eq!(check(&homeless(&["doctor", "--json"]).json(), "scan cache")["present"], false);
    let inventory = homeless(&["scan", "../repository", "--json"]).json();
    assert_eq!(inventory["statistics"]["analysed"], 1);
}

#[test]
fn without_git_there_is_no_churn_and_no_failure() {
    let tree = RepositoryTree::with(&[("a.py", "x = 1\n")]);
    let checks = tree.menace(["doctor", "--json"]).variable("PATH", "/nonexistent").run().success().json();
    assert_eq!(check(&checks, "git")["present"], false);
    let inventory =
        tree.on_repository("scan", ["--json"]).variable("PATH", "/nonexistent").run().success().json();
    assert_eq!(inventory["modules"][0]["churn"], Value::Null);
    let missing = inventory["modules"][0]["risk"]["missing"].to_string();
    assert!(missing.contains("git"), "{missing}");
}
