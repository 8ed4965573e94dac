//! `.env` and `sandbox_settings.yaml`.

use menace_tests::{InvocationOutcome, RepositoryTree};

fn value(outcome: &InvocationOutcome, variable: &str) -> String {
    let rows = outcome.json();
    let row = rows.as_array().unwrap().iter().find(|row| row["env"] == variable).unwrap();
    row["value"].as_str().unwrap().to_owned()
}

fn configured(tree: &RepositoryTree) -> InvocationOutcome {
    tree.menace(["config", "--json"]).run().success()
}

#[test]
fn yaml_has_lists_switches_numbers_and_nothing() {
    let tree = RepositoryTree::new();
    let yaml = "exclude_dirs:\n  - vendor\n  - build\nrecursive_orphans: false\ntest_redundant: yes\n\
                max_recursion_depth: 3\nmin_integration_roi: 0.25\nlog_level: WARNING\n";
    tree.write_in_work("sandbox_settings.yaml", yaml);
    let outcome = configured(&tree);
    let expected = [
        ("SANDBOX_EXCLUDE_DIRS", "vendor,build"),
        ("SANDBOX_RECURSIVE_ORPHANS", "0"),
        ("SANDBOX_MAX_RECURSION_DEPTH", "3"),
        ("MIN_INTEGRATION_ROI", "0.25"),
        ("SANDBOX_LOG_LEVEL", "WARNING"),
    ];
    for (variable, text) in expected {
        assert_eq!(value(&outcome, variable), text, "{variable}");
    }
    assert!(["1", "yes"].contains(&value(&outcome, "SANDBOX_TEST_REDUNDANT").as_str()));
}

#[test]
fn yaml_keys_may_be_variables() {
    let tree = RepositoryTree::new();
    tree.write_in_work("sandbox_settings.yaml", "SANDBOX_MAX_RECURSION_DEPTH: 3\n");
    assert_eq!(value(&configured(&tree), "SANDBOX_MAX_RECURSION_DEPTH"), "3");
}

#[test]
fn an_unknown_yaml_key_is_a_warning() {
    let tree = RepositoryTree::new();
    tree.write_in_work("sandbox_settings.yaml", "recursive_orphan: false\nkeyword_profiles: {a: [b]}\n");
    let outcome = configured(&tree);
    outcome.stderr_contains(&["recursive_orphan", "sandbox_settings.yaml"]);
    assert!(!outcome.stderr.contains("keyword_profiles"), "{}", outcome.stderr);
}

#[test]
fn a_chosen_yaml_file_is_read_and_must_be_there() {
    let tree = RepositoryTree::new();
    tree.write_in_work("other.yaml", "max_recursion_depth: 5\n");
    let outcome =
        tree.menace(["config", "--json"]).variable("SANDBOX_SETTINGS_YAML", "other.yaml").run().success();
    assert_eq!(value(&outcome, "SANDBOX_MAX_RECURSION_DEPTH"), "5");
    let missing = tree.menace(["config"]).variable("SANDBOX_SETTINGS_YAML", "none.yaml").run().exits_with(2);
    missing.stderr_contains(&["none.yaml", "hint: "]);
}

#[test]
fn yaml_that_is_no_mapping_of_settings_is_wrong_usage() {
    let tree = RepositoryTree::new();
    for text in ["- a\n- b\n", "just text\n", "a: [unclosed\n"] {
        tree.write_in_work("sandbox_settings.yaml", text);
        tree.menace(["config"]).run().exits_with(2).stderr_contains(&["sandbox_settings.yaml"]);
    }
    for text in ["", "# only a comment\n", "---\n"] {
        tree.write_in_work("sandbox_settings.yaml", text);
        tree.menace(["config"]).run().success();
    }
}

#[test]
fn dot_env_has_quotes_comments_and_exports() {
    let tree = RepositoryTree::new();
    let text = "# a comment\nexport SANDBOX_MAX_RECURSION_DEPTH=3 # why\n\nSANDBOX_EXCLUDE_DIRS=\"vendor, build\"\n\
                UNRELATED='$HOME'\n";
    tree.write_in_work(".env", text);
    let outcome = configured(&tree);
    assert_eq!(value(&outcome, "SANDBOX_MAX_RECURSION_DEPTH"), "3");
    assert_eq!(value(&outcome, "SANDBOX_EXCLUDE_DIRS"), "vendor, build");
}

#[test]
fn a_dot_env_that_does_not_parse_is_wrong_usage() {
    let tree = RepositoryTree::new();
    tree.write_in_work(".env", "THIS IS NO ASSIGNMENT\n");
    tree.menace(["config"]).run().exits_with(2).stderr_contains(&[".env", "hint: "]);
}

#[test]
fn only_the_dot_env_of_the_working_directory_counts() {
    let tree = RepositoryTree::new();
    tree.write(".env", "SANDBOX_MAX_RECURSION_DEPTH=3\n");
    std::fs::write(tree.work().parent().unwrap().join(".env"), "SANDBOX_MAX_RECURSION_DEPTH=4\n").unwrap();
    assert_eq!(value(&configured(&tree), "SANDBOX_MAX_RECURSION_DEPTH"), "");
}

#[test]
fn a_home_directory_is_expanded() {
    let tree = RepositoryTree::with(&[("alone.py", "x = 1\n")]);
    tree.write_in_work(".env", "SANDBOX_DATA_DIR=~/data\n");
    tree.on_repository("orphans", []).run().success();
    assert!(tree.home().join("data/orphan_modules.json").exists());
    assert!(!tree.work().join("~").exists());
}

#[test]
fn the_repository_can_come_from_settings() {
    let tree = RepositoryTree::with(&[("alone.py", "x = 1\n")]);
    tree.write_in_work("sandbox_settings.yaml", "repo_path: ../repository\n");
    let inventory = tree.menace(["scan", "--json"]).run().success().json();
    assert_eq!(inventory["modules"][0]["path"], "alone.py");
    let here = tree.menace(["scan", "--json", "."]).run().success().json();
    assert_eq!(here["modules"].as_array().unwrap().len(), 0, "an argument takes precedence");
}
