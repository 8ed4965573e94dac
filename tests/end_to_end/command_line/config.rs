//! `menace config`: every setting, its value and source.

use menace_tests::{InvocationOutcome, RepositoryTree};
use serde_json::Value;

const DEPTH: &str = "SANDBOX_MAX_RECURSION_DEPTH";

fn row(outcome: &InvocationOutcome, variable: &str) -> Value {
    let rows = outcome.json();
    let found = rows.as_array().unwrap().iter().find(|row| row["env"] == variable);
    found.unwrap_or_else(|| panic!("{variable} is not listed")).clone()
}

fn value_and_source(outcome: &InvocationOutcome, variable: &str) -> (String, String) {
    let row = row(outcome, variable);
    (row["value"].as_str().unwrap().to_owned(), row["source"].as_str().unwrap().to_owned())
}

#[test]
fn every_row_has_the_documented_fields() {
    let rows = RepositoryTree::new().menace(["config", "--json"]).run().success().json();
    let rows = rows.as_array().unwrap();
    assert!(rows.len() >= 140, "only {} settings", rows.len());
    for row in rows {
        for field in ["env", "value", "source", "default", "help", "status"] {
            assert!(row[field].is_string(), "{field} of {row}");
        }
        assert!(row["flag"].is_null() || row["flag"].as_str().unwrap().starts_with("--"), "{row}");
        assert!(["active", "planned", "deprecated"].contains(&row["status"].as_str().unwrap()), "{row}");
        assert!(!row["help"].as_str().unwrap().is_empty(), "{row}");
        assert_eq!((&row["source"], &row["value"]), (&Value::from("default"), &row["default"]), "{row}");
    }
}

#[test]
fn variables_are_listed_once() {
    let rows = RepositoryTree::new().menace(["config", "--json"]).run().success().json();
    let mut names: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["env"].as_str().unwrap()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// Every variable in the seed documents, unless it belongs to another program.
#[test]
fn every_variable_of_the_reference_is_known() {
    let expected = [
        "SANDBOX_DATA_DIR",
        "SANDBOX_REPO_PATH",
        "SANDBOX_SETTINGS_YAML",
        "SANDBOX_EXCLUDE_DIRS",
        "SANDBOX_AUTO_MAP",
        "SANDBOX_REFRESH_MODULE_MAP",
        "SANDBOX_AUTODISCOVER_MODULES",
        "SANDBOX_RECURSIVE_ORPHANS",
        "SANDBOX_RECURSIVE_ISOLATED",
        "SANDBOX_DISCOVER_ISOLATED",
        "SANDBOX_AUTO_INCLUDE_ISOLATED",
        "SANDBOX_CLEAN_ORPHANS",
        "SANDBOX_TEST_REDUNDANT",
        "SANDBOX_DISABLE_ORPHAN_SCAN",
        "SANDBOX_DISABLE_ORPHANS",
        "SELF_TEST_RECURSIVE_ORPHANS",
        "SELF_TEST_INCLUDE_REDUNDANT",
        "SANDBOX_JSON_LOGS",
        "SANDBOX_LOG_LEVEL",
        "SANDBOX_DEBUG",
        "SANDBOX_VERBOSE",
        "CPU_LIMIT",
        "MEMORY_LIMIT",
        "FAILURE_MODES",
        "VISUAL_AGENT_TOKEN",
        "OPENAI_API_KEY",
        "DATABASE_URL",
        "MIN_INTEGRATION_ROI",
    ];
    let outcome = RepositoryTree::new().menace(["config", "--json"]).run().success();
    for variable in expected {
        row(&outcome, variable);
    }
}

/// Flag over environment over `.env` over YAML over default.
#[test]
fn the_stronger_source_wins() {
    let tree = RepositoryTree::new();
    let check = |arguments: &[&str], environment: Option<&str>, value: &str, source: &str| {
        let mut invocation = tree.menace(["config", "--json"]).arguments(arguments);
        if let Some(text) = environment {
            invocation = invocation.variable(DEPTH, text);
        }
        let found = value_and_source(&invocation.run().success(), DEPTH);
        assert_eq!(found, (value.to_owned(), source.to_owned()));
    };
    check(&[], None, "", "default");
    tree.write_in_work("sandbox_settings.yaml", "max_recursion_depth: 1\n");
    check(&[], None, "1", "yaml");
    tree.write_in_work(".env", "SANDBOX_MAX_RECURSION_DEPTH=2\n");
    check(&[], None, "2", ".env");
    check(&[], Some("3"), "3", "environment");
    check(&["--max-recursion-depth", "4"], Some("3"), "4", "flag");
}

#[test]
fn switches_have_a_negation_and_the_last_one_wins() {
    let tree = RepositoryTree::new();
    let value = |flags: &[&str]| {
        let outcome = tree.menace(["config", "--json"]).arguments(flags).run().success();
        value_and_source(&outcome, "SANDBOX_RECURSIVE_ORPHANS").0
    };
    assert_eq!(value(&["--no-recursive-orphans"]), "0");
    assert_eq!(value(&["--no-recursive-include"]), "0");
    assert_eq!(value(&["--recursive-orphans"]), "1");
    assert_eq!(value(&["--no-recursive-orphans", "--recursive-orphans"]), "1");
    assert_eq!(value(&["--recursive-orphans", "--no-recursive-orphans"]), "0");
}

#[test]
fn an_invalid_value_is_reported_with_its_source() {
    let tree = RepositoryTree::new();
    let check = |invocation: menace_tests::MenaceInvocation, source: &str| {
        let outcome = invocation.run().exits_with(2);
        outcome.stderr_contains(&[DEPTH, "\"deep\"", source, "hint: ", "whole number"]);
        assert_eq!(outcome.stdout, "");
    };
    check(tree.menace(["config"]).variable(DEPTH, "deep"), "environment");
    check(tree.menace(["scan", "--max-recursion-depth", "deep"]), "flag");
    tree.write_in_work("sandbox_settings.yaml", "max_recursion_depth: deep\n");
    check(tree.menace(["doctor"]), "yaml");
    tree.write_in_work(".env", "SANDBOX_MAX_RECURSION_DEPTH=deep\n");
    check(tree.menace(["init"]), ".env");
}

#[test]
fn values_of_planned_settings_are_checked_too() {
    let outcome = RepositoryTree::new().menace(["config"]).variable("CPU_LIMIT", "lots").run().exits_with(2);
    outcome.stderr_contains(&["CPU_LIMIT", "lots", "environment", "hint: "]);
}

#[test]
fn deprecated_names_work_with_a_warning() {
    let tree = RepositoryTree::new();
    let outcome =
        tree.menace(["config", "--json"]).variable("SANDBOX_AUTODISCOVER_MODULES", "1").run().success();
    outcome.stderr_contains(&["SANDBOX_AUTODISCOVER_MODULES is deprecated", "SANDBOX_AUTO_MAP"]);
    assert_eq!(value_and_source(&outcome, "SANDBOX_AUTO_MAP").0, "1");
    assert_eq!(row(&outcome, "SANDBOX_AUTODISCOVER_MODULES")["status"], "deprecated");
}

#[test]
fn self_test_settings_follow_the_sandbox_ones() {
    let tree = RepositoryTree::new();
    let mirrors = [
        ("SANDBOX_RECURSIVE_ORPHANS", "SELF_TEST_RECURSIVE_ORPHANS"),
        ("SANDBOX_RECURSIVE_ISOLATED", "SELF_TEST_RECURSIVE_ISOLATED"),
        ("SANDBOX_DISCOVER_ISOLATED", "SELF_TEST_DISCOVER_ISOLATED"),
        ("SANDBOX_AUTO_INCLUDE_ISOLATED", "SELF_TEST_AUTO_INCLUDE_ISOLATED"),
        ("SANDBOX_TEST_REDUNDANT", "SELF_TEST_INCLUDE_REDUNDANT"),
    ];
    for (sandbox, self_test) in mirrors {
        let follows = tree.menace(["config", "--json"]).variable(sandbox, "0").run().success();
        let (value, source) = value_and_source(&follows, self_test);
        assert_eq!(value, "0", "{self_test}");
        assert!(source.contains(sandbox), "{self_test} comes from {source}");
        let own =
            tree.menace(["config", "--json"]).variable(sandbox, "0").variable(self_test, "1").run().success();
        assert_eq!(value_and_source(&own, self_test), ("1".to_owned(), "environment".to_owned()));
        assert_eq!(value_and_source(&own, sandbox).0, "0");
    }
}

#[test]
fn secrets_are_never_shown() {
    let tree = RepositoryTree::new();
    tree.write_in_work(".env", "VISUAL_AGENT_TOKEN=hunter2-token\n");
    for arguments in
        [&["config"][..], &["config", "--json"], &["config", "--verbose", "--log-level", "trace"]]
    {
        let outcome = tree
            .menace(arguments.iter().copied())
            .variable("OPENAI_API_KEY", "sk-hunter2")
            .variable("DATABASE_URL", "postgresql://menace:hunter2@db/menace")
            .run()
            .success();
        assert!(!outcome.stdout.contains("hunter2") && !outcome.stderr.contains("hunter2"), "{arguments:?}");
    }
}

#[test]
fn rows_can_be_filtered() {
    let tree = RepositoryTree::new();
    let outcome = tree.menace(["config", "--json", "orphans"]).run().success();
    let rows = outcome.json();
    let count = rows.as_array().unwrap().len();
    assert!((5..60).contains(&count), "{count} rows");
    let changed = tree.menace(["config", "--json", "--changed"]).variable(DEPTH, "7").run().success().json();
    let names: Vec<&str> =
        changed.as_array().unwrap().iter().map(|row| row["env"].as_str().unwrap()).collect();
    assert_eq!(names, [DEPTH]);
}

#[test]
fn the_table_marks_planned_settings() {
    let outcome = RepositoryTree::new().menace(["config"]).run().success();
    assert!(outcome.stdout.contains("SANDBOX_DATA_DIR") && outcome.stdout.contains("planned"));
    assert_eq!(outcome.stderr, "");
}
