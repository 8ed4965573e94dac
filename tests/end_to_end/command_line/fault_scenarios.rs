//! Runs under fault scenarios: each finds the code that does not handle its faults, and no code that does.

use menace_tests::RepositoryTree;
use serde_json::{Value, json};

/// For each scenario a function without error handling, and a counterpart with it.
const CLIENTS: &str = r#"
import json
import os
import socket
import urllib.error
import urllib.request

ADDRESS = "http://prices.example.com/v1/items/7"
BROKEN = (OSError, ValueError, KeyError, TypeError)


def ask(timeout):
    with urllib.request.urlopen(ADDRESS, timeout=timeout) as answer:
        return json.load(answer)


def hasty() -> bool:
    return "id" in ask(0.1)


def patient() -> bool:
    return "id" in ask(3)


def trusting() -> bool:
    return "id" in ask(0.5)


def doubting() -> bool:
    for _ in range(3):
        try:
            return "id" in ask(0.5)
        except BROKEN:
            continue
    return False


def literal() -> float:
    return ask(2)["price"] * 2


def tolerant() -> float:
    try:
        return float(ask(2)["price"])
    except (KeyError, TypeError, ValueError):
        return 0.0


def secure() -> bool:
    with urllib.request.urlopen("https://secure.example.com/", timeout=3) as answer:
        return answer.status == 200


def raw() -> bytes:
    with socket.create_connection(("raw.example.com", 80), timeout=3) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return connection.recv(12)
"#;

const WRITERS: &str = r#"
import json


def careless() -> int:
    with open("/workspace/note.txt", "w") as file:
        return file.write("text")


def careful() -> bool:
    try:
        careless()
        return True
    except OSError:
        return False


def believing() -> list:
    with open("/tmp/list.json", "w") as file:
        json.dump([1, 2, 3], file)
    with open("/tmp/list.json") as file:
        return json.load(file)


def verifying() -> list:
    try:
        return believing()
    except ValueError:
        return []


def pure(number: int) -> int:
    return number
"#;

fn run(tree: &RepositoryTree, modes: &[&str]) -> Value {
    let presets: Vec<Value> = modes.iter().map(|mode| json!({"FAILURE_MODES": [mode]})).collect();
    tree.write_in_work("presets.json", json!(presets).to_string());
    let invocation = tree.on_repository("run", ["--json", "--preset-file", "presets.json"]);
    invocation.wall_limit(std::time::Duration::from_secs(200)).run().exits_with(1).json()
}

fn cell<'a>(report: &'a Value, section: &str, scenario: &str) -> &'a Value {
    let cells = report["cells"].as_array().unwrap();
    let found = cells.iter().find(|cell| cell["section"] == section && cell["scenario"] == scenario);
    found.unwrap_or_else(|| panic!("{section} has no cell for {scenario}"))
}

fn assert_fails(report: &Value, section: &str, scenario: &str) {
    let cell = cell(report, section, scenario);
    assert!(cell["robustness"].as_f64().is_some_and(|robustness| robustness < 1.0), "{cell}");
    assert_eq!(
        self::cell(report, section, "normal")["robustness"],
        1.0,
        "{section} also fails without the fault"
    );
}

fn assert_holds(report: &Value, section: &str, scenario: &str) {
    let cell = cell(report, section, scenario);
    assert!(cell["n"].as_u64().unwrap() > 0, "{section} has no counted calls: {cell}");
    assert_eq!(cell["robustness"], 1.0, "{cell}");
}

#[test]
fn network_faults_find_code_that_does_not_handle_them() {
    let tree = RepositoryTree::with(&[("clients.py", CLIENTS)]);
    let modes = ["high_latency", "flaky_upstream", "network_partition", "chaotic_failure"];
    let report = run(&tree, &modes);
    for section in ["patient", "trusting", "secure", "raw"] {
        assert_holds(&report, &format!("clients:{section}"), "normal");
    }
    assert_fails(&report, "clients:hasty", "high_latency");
    for section in ["patient", "secure", "raw"] {
        assert_holds(&report, &format!("clients:{section}"), "high_latency");
    }
    for scenario in ["flaky_upstream", "network_partition", "chaotic_failure"] {
        assert_fails(&report, "clients:trusting", scenario);
        assert_holds(&report, "clients:doubting", scenario);
    }
}

#[test]
fn schema_drift_finds_code_that_trusts_the_schema() {
    let tree = RepositoryTree::with(&[("clients.py", CLIENTS)]);
    tree.write_in_work(
        "presets.json",
        r#"{"FAILURE_MODES": ["schema_drift"], "SCHEMA_MISMATCHES": 20, "SCHEMA_CHECKS": 100}"#,
    );
    let invocation = tree.on_repository("run", ["--json", "--preset-file", "presets.json"]);
    let report = invocation.wall_limit(std::time::Duration::from_secs(200)).run().exits_with(1).json();
    assert_fails(&report, "clients:literal", "schema_drift");
    assert_holds(&report, "clients:tolerant", "schema_drift");
}

#[test]
fn disk_faults_find_unchecked_writes_and_are_void_without_writes() {
    let tree = RepositoryTree::with(&[("writers.py", WRITERS)]);
    let report = run(&tree, &["disk", "disk_corruption"]);
    assert_fails(&report, "writers:careless", "disk");
    assert_holds(&report, "writers:careful", "disk");
    assert_fails(&report, "writers:believing", "disk_corruption");
    assert_holds(&report, "writers:verifying", "disk_corruption");
    let pure = cell(&report, "writers:pure", "disk");
    assert_eq!((&pure["n"], &pure["robustness"]), (&json!(0), &Value::Null));
    assert!(pure["void_reason"].as_str().unwrap().contains("none of its file operations failed"), "{pure}");
}

#[test]
fn a_network_failure_is_replayed_identically() {
    let tree = RepositoryTree::with(&[("clients.py", CLIENTS)]);
    let report = run(&tree, &["chaotic_failure"]);
    let failures = report["failures"].as_array().unwrap();
    let failure = failures.iter().find(|failure| failure["section"] == "clients:trusting").unwrap();
    let call = failure["call"].as_str().unwrap();
    let replayed = tree.menace(["replay", call, "--json"]).run().exits_with(1).json();
    assert_eq!((&replayed["kind"], &replayed["same"]), (&failure["kind"], &json!(true)), "{replayed}");
}
