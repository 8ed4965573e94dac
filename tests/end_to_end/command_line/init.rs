//! `menace init`: writes `.env` and keeps existing lines.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use menace_tests::RepositoryTree;

#[test]
fn the_file_is_private_and_the_data_directory_there() {
    let tree = RepositoryTree::new();
    let outcome = tree.menace(["init"]).run().success();
    assert_eq!(outcome.stdout, "", "there is no data to print");
    let mode = fs::metadata(tree.work().join(".env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "secrets go into this file");
    assert!(tree.work().join("sandbox_data").is_dir());
}

#[test]
fn a_second_time_appends_nothing() {
    let tree = RepositoryTree::new();
    tree.menace(["init"]).run().success();
    let first = fs::read(tree.work().join(".env")).unwrap();
    tree.menace(["init"]).run().success();
    assert_eq!(fs::read(tree.work().join(".env")).unwrap(), first);
}

#[test]
fn what_the_user_wrote_stays_and_counts() {
    let tree = RepositoryTree::new();
    let own = "# mine\nSANDBOX_MAX_RECURSION_DEPTH=7\n#SANDBOX_TEST_REDUNDANT=0\nMY_OWN='a b'";
    tree.write_in_work(".env", own);
    tree.menace(["init"]).run().success();
    let text = fs::read_to_string(tree.work().join(".env")).unwrap();
    assert!(text.starts_with(&format!("{own}\n")), "{text}");
    assert_eq!(
        text.matches("SANDBOX_MAX_RECURSION_DEPTH").count(),
        1,
        "the setting must not be written again"
    );
    let rows = tree.menace(["config", "--json", "SANDBOX_MAX_RECURSION_DEPTH"]).run().success().json();
    assert_eq!((rows[0]["value"].as_str(), rows[0]["source"].as_str()), (Some("7"), Some(".env")));
    tree.menace(["init"]).run().success();
    assert_eq!(fs::read_to_string(tree.work().join(".env")).unwrap(), text);
}

#[test]
fn the_written_defaults_change_nothing() {
    let tree = RepositoryTree::new();
    let values = |tree: &RepositoryTree| -> Vec<(String, String)> {
        let outcome = tree.menace(["config", "--json"]).run().success();
        assert_eq!(outcome.stderr, "", "defaults must not cause a warning");
        let rows = outcome.json();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| (row["env"].to_string(), row["value"].to_string())).collect()
    };
    let before = values(&tree);
    tree.menace(["init"]).run().success();
    assert_eq!(values(&tree), before);
}

/// Settings that are planned and have no default would be noise.
#[test]
fn every_setting_that_does_something_is_mentioned() {
    let tree = RepositoryTree::new();
    tree.menace(["init"]).run().success();
    let text = fs::read_to_string(tree.work().join(".env")).unwrap();
    let rows = tree.menace(["config", "--json"]).run().success().json();
    for row in rows.as_array().unwrap().iter().filter(|row| row["status"] == "active") {
        let name = row["env"].as_str().unwrap();
        let is_mentioned = text.lines().any(|line| {
            line.trim_start_matches(['#', ' ']).strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
        });
        assert!(is_mentioned, "{name}");
    }
}

#[test]
fn the_data_directory_is_the_configured_one() {
    let tree = RepositoryTree::new();
    tree.menace(["init", "--data-dir", "elsewhere/data"]).run().success();
    assert!(tree.work().join("elsewhere/data").is_dir());
    assert!(!tree.work().join("sandbox_data").exists());
}
