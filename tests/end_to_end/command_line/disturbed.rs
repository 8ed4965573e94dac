//! Runs in a world that goes wrong: each scenario finds the code that does not mind it and leaves alone the code that does.

use menace_tests::Tree;
use serde_json::{Value, json};

/// For each scenario a function that trusts the world, and beside it one that does not.
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

fn run(tree: &Tree, modes: &[&str]) -> Value {
    let presets: Vec<Value> = modes.iter().map(|mode| json!({"FAILURE_MODES": [mode]})).collect();
    tree.write_in_work("presets.json", json!(presets).to_string());
    let invocation = tree.reading("run", ["--json", "--preset-file", "presets.json"]);
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
    assert_eq!(self::cell(report, section, "normal")["robustness"], 1.0, "{section} fails without it, too");
}

fn assert_holds(report: &Value, section: &str, scenario: &str) {
    let cell = cell(report, section, scenario);
    assert!(cell["n"].as_u64().unwrap() > 0, "{section} has met nothing: {cell}");
    assert_eq!(cell["robustness"], 1.0, "{cell}");
}

#[test]
fn a_network_that_goes_wrong_finds_who_trusts_it() {
    let tree = Tree::with(&[("clients.py", CLIENTS)]);
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
fn answers_that_drift_find_who_takes_them_literally() {
    let tree = Tree::with(&[("clients.py", CLIENTS)]);
    tree.write_in_work(
        "presets.json",
        r#"{"FAILURE_MODES": ["schema_drift"], "SCHEMA_MISMATCHES": 20, "SCHEMA_CHECKS": 100}"#,
    );
    let invocation = tree.reading("run", ["--json", "--preset-file", "presets.json"]);
    let report = invocation.wall_limit(std::time::Duration::from_secs(200)).run().exits_with(1).json();
    assert_fails(&report, "clients:literal", "schema_drift");
    assert_holds(&report, "clients:tolerant", "schema_drift");
}

#[test]
fn a_disk_that_goes_wrong_finds_who_trusts_it_and_nobody_who_does_not_write() {
    let tree = Tree::with(&[("writers.py", WRITERS)]);
    let report = run(&tree, &["disk", "disk_corruption"]);
    assert_fails(&report, "writers:careless", "disk");
    assert_holds(&report, "writers:careful", "disk");
    assert_fails(&report, "writers:believing", "disk_corruption");
    assert_holds(&report, "writers:verifying", "disk_corruption");
    let pure = cell(&report, "writers:pure", "disk");
    assert_eq!((&pure["n"], &pure["robustness"]), (&json!(0), &Value::Null));
    assert!(pure["void_reason"].as_str().unwrap().contains("nothing that it wrote went wrong"), "{pure}");
}

#[test]
fn a_failure_of_the_network_is_replayed_as_it_was() {
    let tree = Tree::with(&[("clients.py", CLIENTS)]);
    let report = run(&tree, &["chaotic_failure"]);
    let failures = report["failures"].as_array().unwrap();
    let failure = failures.iter().find(|failure| failure["section"] == "clients:trusting").unwrap();
    let call = failure["call"].as_str().unwrap();
    let replayed = tree.menace(["replay", call, "--json"]).run().exits_with(1).json();
    assert_eq!((&replayed["kind"], &replayed["same"]), (&failure["kind"], &json!(true)), "{replayed}");
}
