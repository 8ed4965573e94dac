//! Stored runs: replaying calls, showing runs, resuming interrupted runs.

use menace_tests::{InvocationOutcome, RepositoryTree};
use serde_json::{Value, json};

const MODULE: &str = r#"
import time


def average(prices: list[int]) -> float:
    """The mean.

    >>> average([1, 2])
    2.0
    """
    return sum(prices) / len(prices)


def right(number: int) -> int:
    return number


def slow(number: int) -> int:
    time.sleep(0.02)
    return number
"#;

fn tree() -> RepositoryTree {
    RepositoryTree::with(&[("shop/__init__.py", ""), ("shop/prices.py", MODULE)])
}

fn run(tree: &RepositoryTree, more: &[&str]) -> InvocationOutcome {
    let options = ["--json", "--timeout", "2s"];
    tree.on_repository("run", options.into_iter().chain(more.iter().copied())).run()
}

fn failure<'a>(report: &'a Value, kind: &str) -> &'a Value {
    let failures = report["failures"].as_array().unwrap();
    failures
        .iter()
        .find(|failure| failure["kind"] == kind)
        .unwrap_or_else(|| panic!("no {kind} in {failures:?}"))
}

#[test]
fn every_failure_is_replayed_with_its_traceback() {
    let tree = tree();
    let report = run(&tree, &[]).exits_with(1).json();
    let crash = failure(&report, "crash");
    let call = crash["call"].as_str().unwrap();
    assert_eq!(crash["replay"], format!("menace replay {call}"));
    let replayed = tree.menace(["replay", call, "--json"]).run().exits_with(1).json();
    assert_eq!(
        (&replayed["kind"], &replayed["exception"], &replayed["line"], &replayed["same"]),
        (&crash["kind"], &crash["exception"], &crash["line"], &json!(true))
    );
    let traceback = replayed["traceback"].as_str().unwrap();
    assert!(traceback.contains("return sum(prices) / len(prices)"), "{traceback}");
    assert!(!traceback.contains("menace_harness"), "{traceback}");
    let shown = tree.menace(["replay", call]).run().exits_with(1);
    shown.stdout_contains(&["shop.prices:average", "as before", "shop/prices.py:11 in average", "([])"]);

    // The docstring's example promises another result.
    let wrong = failure(&report, "wrong");
    assert!(wrong["message"].as_str().unwrap().contains("Expected: 2.0 Got: 1.5"), "{wrong}");
    let replayed = tree.menace(["replay", wrong["call"].as_str().unwrap(), "--json"]).run().exits_with(1);
    assert_eq!(replayed.json()["same"], true);

    // After a change the replay lists the file and reports another outcome.
    tree.write("shop/prices.py", MODULE.replace("len(prices)", "(len(prices) or 1)"));
    let replayed = tree.menace(["replay", call, "--json"]).run().success();
    assert_eq!(replayed.json()["same"], false);
    assert_eq!(replayed.json()["changed_files"], json!(["shop/prices.py"]));
}

#[test]
fn runs_and_calls_are_listed() {
    let tree = tree();
    let report = run(&tree, &["--seed", "5"]).exits_with(1).json();
    let id = report["run"].as_str().unwrap();
    let runs = tree.menace(["show", "--json"]).run().success().json();
    assert_eq!((&runs["runs"][0]["id"], &runs["runs"][0]["state"]), (&json!(id), &json!("finished")));
    assert_eq!(tree.menace(["show", id, "--json"]).run().success().json(), report);
    tree.menace(["show", id]).run().success().stdout_contains(&["ZeroDivisionError", "menace replay c_"]);
    tree.menace(["show"]).run().success().stdout_contains(&[id, "finished"]);

    let calls = |more: &[&str]| {
        let options = ["show", id, "--calls", "--json", "--top", "3"];
        tree.menace(options.into_iter().chain(more.iter().copied())).run().success().json()["calls"].clone()
    };
    let crashes = calls(&["--kind", "crash"]);
    assert!(crashes.as_array().unwrap().iter().all(|call| call["kind"] == "crash"), "{crashes}");
    let first = calls(&[]);
    let next = calls(&["--after", first[2]["id"].as_str().unwrap()]);
    assert_ne!(first[0]["id"], next[0]["id"]);
    let right = calls(&["--section", "shop.prices:right"]);
    assert!(right.as_array().unwrap().iter().all(|call| call["section"] == "shop.prices:right"), "{right}");

    for (wrong, text) in [
        (vec!["show", "r_zzzzzzzzzzzzzz"], "no run with id"),
        (vec!["replay", "c_zzzzzzzzzzzzzz_1"], "no call with id"),
        (vec!["replay", "nonsense"], "is not a call id"),
        (vec!["show", id, "--calls", "--kind", "crush"], "crash"),
        (vec!["run", "--resume", id], "is finished"),
    ] {
        let said = tree.menace(wrong.clone()).run().exits_with(2);
        assert!(said.stderr.contains(text), "{wrong:?}: {}", said.stderr);
    }
}

#[test]
fn a_killed_run_is_resumed_with_the_same_result() {
    let tree = tree();
    let whole = run(&tree, &[]).exits_with(1).json();

    let mut running = tree.on_repository("run", ["--json", "--timeout", "2s"]).start();
    let runs = || tree.menace(["show", "--json"]).run().success().json()["runs"].clone();
    let begun = |runs: &Value| {
        runs.as_array().unwrap().iter().find(|run| run["state"] == "running").map(|run| run["id"].clone())
    };
    let id = loop {
        assert!(running.is_running(), "{}", running.finish().stderr);
        if let Some(id) = begun(&runs()) {
            let id = id.as_str().unwrap().to_owned();
            let made = tree.menace(["show", &id, "--calls", "--json"]).run().success().json();
            if made["calls"].as_array().unwrap().len() > 10 {
                break id;
            }
        }
    };
    running.kill();
    let made = tree.menace(["show", &id, "--calls", "--json", "--top", "0"]).run().success().json();
    let before = made["calls"].as_array().unwrap().clone();
    let resumed = tree.menace(["run", "--resume", &id, "--json"]).run().exits_with(1).json();
    assert_eq!(resumed["run"], id.as_str());
    assert_eq!(resumed["cells"], whole["cells"]);
    // Calls that were made before the kill are not repeated.
    let after = tree.menace(["show", &id, "--calls", "--json", "--top", "0"]).run().success().json();
    for call in &before {
        assert!(after["calls"].as_array().unwrap().contains(call), "{call}");
    }
}

#[test]
fn an_interrupted_run_is_saved() {
    let tree = tree();
    let mut running = tree.on_repository("run", ["--json", "--timeout", "2s"]).start();
    let runs = || tree.menace(["show", "--json"]).run().success().json()["runs"].clone();
    while runs()[0]["planned"].as_u64().unwrap_or(0) == 0 {
        assert!(running.is_running(), "{}", running.finish().stderr);
    }
    running.interrupt();
    let ended = running.finish().exits_with(4);
    let stored = runs()[0].clone();
    assert_eq!(stored["state"], "interrupted");
    assert!(
        ended.stderr.contains(&format!("--resume {}", stored["id"].as_str().unwrap())),
        "{}",
        ended.stderr
    );
    // A changed repository cannot continue the run.
    tree.write("shop/more.py", "def more(number: int) -> int:\n    return number\n");
    let refused = tree.menace(["run", "--resume", stored["id"].as_str().unwrap()]).run().exits_with(2);
    assert!(refused.stderr.contains("changed since this run began"), "{}", refused.stderr);
}

#[test]
fn emitted_tests_fail_today_for_the_same_reason() {
    let tree = tree();
    run(&tree, &["--emit-tests", "emitted"]).exits_with(1);
    let directory = tree.work().join("emitted");
    let files: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        // The test functions are plain, so that they can run without pytest.
        let program = format!(
            "import runpy\ntests = runpy.run_path({:?})\n\
             [value() for name, value in tests.items() if name.startswith('test_')]\n",
            file.to_str().unwrap()
        );
        let output = std::process::Command::new("python3")
            .args(["-c", &program])
            .env("PYTHONPATH", tree.repository())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(said.contains("ZeroDivisionError") || said.contains("AssertionError"), "{said}");
    }
}
