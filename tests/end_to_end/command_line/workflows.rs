//! Workflows: stored, run under scenarios, and combined.

use menace_tests::RepositoryTree;
use serde_json::{Value, json};

const SHOP: &str = r#"
class Cart:
    def __init__(self) -> None:
        self.lines = []


def add(cart: Cart, price: int) -> int:
    cart.lines.append(price)
    return len(cart.lines)


def checkout(cart: Cart, details: dict) -> str:
    return f"{len(cart.lines)} to {details['country']}"


def total(prices: list[int]) -> float:
    return sum(prices) / max(len(prices), 1)


def payload(name: str) -> str:
    import os

    with open("payload.txt") as file:
        return file.read() + os.environ["TOKEN"]


def online(name: str) -> str:
    import socket

    socket.create_connection(("192.0.2.1", 80))
    return "reached"
"#;

fn tree() -> RepositoryTree {
    RepositoryTree::with(&[("shop.py", SHOP)])
}

fn repository(tree: &RepositoryTree) -> String {
    tree.repository().display().to_string()
}

#[test]
fn workflows_are_stored_by_name_and_number() {
    let tree = tree();
    let added =
        tree.menace(["workflows", "add", "buy", "shop:add", "shop:checkout", "--json"]).run().success();
    assert_eq!(added.json()["steps"], json!(["shop:add", "shop:checkout"]));
    let id = added.json()["id"].to_string();
    let listed = tree.menace(["workflows", "list", "--json"]).run().success().json();
    assert_eq!(listed["workflows"][0]["name"], "buy");
    assert_eq!(tree.menace(["workflows", "show", &id, "--json"]).run().success().json(), added.json());
    let twice = tree.menace(["workflows", "add", "buy", "shop:add"]).run().exits_with(2);
    assert!(twice.stderr.contains("workflow buy already exists"), "{}", twice.stderr);
    tree.menace(["workflows", "rm", "buy"]).run().success();
    assert!(tree.menace(["workflows", "show", "buy"]).run().exits_with(2).stderr.contains("no workflow buy"));
}

#[test]
fn five_scenarios_are_compared_with_no_op_steps_and_the_worst_is_marked() {
    let tree = tree();
    tree.menace(["workflows", "add", "buy", "shop:add", "shop:checkout"]).run().success();
    let repo = repository(&tree);
    let report = tree
        .menace(["run-scenarios", "buy", "--repo", &repo, "--times", "16", "--json"])
        .run()
        .exits_with(1)
        .json();
    let rows = report["scenarios"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["scenario"].as_str().unwrap()).collect();
    assert_eq!(names, ["normal", "concurrency_spike", "hostile_input", "schema_drift", "flaky_upstream"]);
    assert_eq!(rows[0]["robustness"], 1.0);
    assert!(rows[0]["roi_delta"].as_f64().unwrap() > 0.9, "{}", rows[0]);
    // Steps that are replaced by no-ops have no return, and still have a cost.
    let off = rows[0]["roi_off"].as_f64().unwrap();
    assert!((-0.5..0.0).contains(&off), "{off}");
    assert_eq!(report["worst_scenario"], "schema_drift");
    assert!(rows[3]["failure"].as_str().unwrap().contains("KeyError: 'country'"), "{}", rows[3]);
    assert!(rows[4]["void_reason"].is_string() && rows[4]["roi_delta"].is_null(), "{}", rows[4]);
    let shown = tree.menace(["run-scenarios", "shop:checkout", "--repo", &repo]).run().exits_with(1);
    let worst: Vec<&str> = shown.stdout.lines().filter(|line| line.contains("<== WORST")).collect();
    assert!(worst.len() == 1 && worst[0].contains("schema_drift"), "{}", shown.stdout);
    let unknown = tree.menace(["run-scenarios", "shop:buy", "--repo", &repo]).run().exits_with(2);
    assert!(unknown.stderr.contains("no section shop:buy"), "{}", unknown.stderr);
}

#[test]
fn the_trajectory_has_five_stages_in_order() {
    let tree = tree();
    let arguments = [
        "simulate-temporal-trajectory",
        "shop:checkout",
        "--repo",
        &repository(&tree),
        "--times",
        "8",
        "--json",
    ];
    let report = tree.menace(arguments).run().exits_with(1).json();
    let stages = report["stages"].as_array().unwrap();
    let names: Vec<&str> = stages.iter().map(|row| row["stage"].as_str().unwrap()).collect();
    assert_eq!(names, ["normal", "high_latency", "resource_strain", "schema_drift", "chaotic_failure"]);
    assert_eq!((&stages[0]["resilience"], &stages[0]["stability"]), (&json!(1.0), &json!(1.0)));
    // Resource strain applies to workflows, too.
    assert!(stages[2]["roi"].is_number() && stages[2]["void_reason"].is_null(), "{}", stages[2]);
    let drift = &stages[3];
    assert!(drift["resilience"].as_f64().unwrap() < 1.0, "{drift}");
    assert!(drift["degradation"].as_f64().unwrap() > 0.0, "{drift}");
    assert!(drift["stability"].as_f64().unwrap() < 1.0, "{drift}");
    assert!(stages[1]["roi"].is_null() && stages[1]["void_reason"].is_string(), "{}", stages[1]);
}

#[test]
fn steps_share_state_and_find_prepared_files() {
    let tree = tree();
    let repo = repository(&tree);
    let run = |workflow: &str, more: &[&str]| -> Value {
        let arguments = ["workflows", "run", workflow, "--repo", &repo, "--times", "4", "--json"];
        let ended = tree.menace(arguments.into_iter().chain(more.iter().copied())).run();
        assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.stderr);
        ended.json()["workflows"][0].clone()
    };
    // The second step gets the cart of the first.
    let added = run("shop:add,shop:add,shop:checkout", &[]);
    let result = added["steps"][2]["result"].as_str().unwrap();
    assert!(result.starts_with("'2 to "), "{result}");
    assert_eq!(added["steps"][0]["crash_frequency"], 0.0);
    assert!(added["steps"][0]["peak_memory_bytes"].as_u64().unwrap() > 1_000_000);
    assert!(added["synergy"]["synergy_reliability"].is_number(), "{added}");

    let missing = run("shop:payload", &[]);
    assert_eq!(missing["robustness"], 0.0);
    let found = run("shop:payload", &["--file", "payload.txt=fake", "--env", "TOKEN=abc"]);
    assert_eq!(found["steps"][0]["result"], "'fakeabc'");
    tree.write_in_work(
        "fixtures.json",
        r#"{"shop": {"files": {"payload.txt": "from "}, "env": {"TOKEN": "file"}}}"#,
    );
    let found = run("shop:payload", &["--fixtures", "fixtures.json"]);
    assert_eq!(found["steps"][0]["result"], "'from file'");
    let safe = run("shop:online", &["--safe-mode"]);
    assert!(safe["steps"][0]["failure"].as_str().unwrap().contains("safe mode"), "{safe}");
}

#[test]
fn all_workflows_run_together_and_are_generated_if_missing() {
    let tree = tree();
    let repo = repository(&tree);
    let run = |more: &[&str]| -> Vec<String> {
        let arguments = ["workflows", "run", "--repo", &repo, "--times", "2", "--json"];
        let ended = tree.menace(arguments.into_iter().chain(more.iter().copied())).run();
        assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.stderr);
        let report = ended.json();
        let rows = report["workflows"].as_array().unwrap();
        rows.iter().map(|row| row["workflow"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(run(&[]), ["group_0"]);
    tree.menace(["workflows", "add", "buy", "shop:add", "shop:checkout"]).run().success();
    tree.menace(["workflows", "add", "sum", "shop:total"]).run().success();
    assert_eq!(run(&[]), ["buy", "sum", "all_workflows"]);
    assert_eq!(run(&["--dynamic-workflows"]), ["group_0"]);
}

#[test]
fn every_metric_is_compared_together_and_alone_and_under_scenarios() {
    let drifting = "def area(record: dict) -> int:\n    return record['width'] * record['height']\n";
    let risky = "import pickle\n\n\ndef load(data: bytes) -> int:\n    return len(data)\n\n\ndef raw(data):\n    return pickle.loads(data)\n";
    let tree = RepositoryTree::with(&[("area.py", drifting), ("risky.py", risky)]);
    let repo = repository(&tree);
    let arguments = ["workflows", "run", "area:area,risky:load", "--repo", &repo, "--times", "6"];
    let more = ["--scenario", "hostile_input", "--scenario", "user_misuse", "--json"];
    let ended = tree.menace(arguments.into_iter().chain(more)).run();
    assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.stderr);
    let row = ended.json()["workflows"][0].clone();
    let overall = &row["synergy"];
    // The findings of one module are spread over the lines of both, and both have more kinds of tokens.
    assert!(overall["synergy_shannon_entropy"].as_f64().unwrap() > 0.0, "{overall}");
    assert!(overall["synergy_security_score"].as_f64().unwrap().abs() > 1e-6, "{overall}");
    for metric in
        ["roi", "profitability", "revenue", "efficiency", "resilience", "safety_rating", "risk_index"]
    {
        assert!(overall[format!("synergy_{metric}")].is_number(), "{metric}: {overall}");
    }
    let under: Vec<&String> = row["scenario_synergy"].as_object().unwrap().keys().collect();
    assert_eq!(under, ["hostile_input", "normal", "user_misuse"]);
    assert!(
        row["scenario_synergy"]["normal"]["synergy_security_score"].is_null(),
        "static metrics do not depend on the scenario"
    );
    let ranks = tree.menace(["rank-scenario-synergy", "sandbox_data", "--metric", "revenue", "--json"]).run();
    assert_eq!(ranks.success().json()["scenarios"].as_array().unwrap().len(), 3);
    tree.menace(["rank-synergy", "sandbox_data", "--metric", "security_score"]).run().success();
    tree.menace(["workflows", "run", "area:area", "--repo", &repo, "--scenario", "luck"]).run().exits_with(2);
}
