//! `menace presets`: generate, list, show.

use std::fs;

use menace_tests::RepositoryTree;
use serde_json::{Value, json};

#[test]
fn presets_of_profiles_are_low_and_high_in_turn() {
    let arguments =
        ["presets", "generate", "--profiles", "hostile_input", "high_latency_api", "--count", "2"];
    let made = RepositoryTree::new().menace(arguments).run().success().json();
    let named = |field: &str| -> Vec<Value> {
        made.as_array().unwrap().iter().map(|preset| preset[field].clone()).collect()
    };
    assert_eq!(
        named("SCENARIO_NAME"),
        ["hostile_input", "hostile_input", "high_latency_api", "high_latency_api"]
    );
    assert_eq!(named("SEVERITY"), ["low", "high", "low", "high"]);
    assert_eq!(made[3]["NETWORK_LATENCY_MS"], 500);
}

#[test]
fn presets_written_to_a_file_are_shown_from_it() {
    let tree = RepositoryTree::new();
    tree.menace(["presets", "generate", "--count", "4", "--seed", "7", "--out", "presets.json"])
        .run()
        .success();
    let written: Value =
        serde_json::from_str(&fs::read_to_string(tree.work().join("presets.json")).unwrap()).unwrap();
    assert_eq!(written.as_array().unwrap().len(), 4);
    let shown = tree.menace(["presets", "show", "presets.json", "--json"]).run().success().json();
    assert_eq!(shown, written);
    let again = tree.menace(["presets", "generate", "--count", "4", "--seed", "7"]).run().success().json();
    assert_eq!(again, written);
    let other = tree.menace(["presets", "generate", "--count", "4", "--seed", "8"]).run().success().json();
    assert_ne!(other, written);
}

#[test]
fn the_canonical_profiles_are_listed_with_both_severities() {
    let listed = RepositoryTree::new().menace(["presets", "list", "--json"]).run().success().json();
    assert_eq!(listed.as_array().unwrap().len(), 12);
    let table = RepositoryTree::new().menace(["presets", "list"]).run().success().stdout;
    assert!(table.contains("concurrency_spike") && table.contains("THREAD_BURST=50"), "{table}");
}

#[test]
fn an_unknown_key_or_profile_is_named_with_a_suggestion() {
    let tree = RepositoryTree::new();
    tree.write_in_work("wrong.json", json!([{"SCENARIO_NAME": "x", "CPU_LIMTI": "1"}]).to_string());
    let wrong = tree.menace(["presets", "show", "wrong.json"]).run().exits_with(2);
    assert!(wrong.stderr.contains("CPU_LIMTI") && wrong.stderr.contains("CPU_LIMIT"), "{}", wrong.stderr);
    let unknown = tree.menace(["presets", "show", "hostile_imput"]).run().exits_with(2);
    assert!(unknown.stderr.contains("the nearest profile is hostile_input"), "{}", unknown.stderr);
}
