//! ROI tracking: histories, forecasts, ranks, plugins, weights.

use menace_tests::{InvocationOutcome, RepositoryTree};
use serde_json::{Value, json};

const PRICES: &str = r#"
def total(prices: list[int]) -> int:
    """Adds."""
    return sum(prices)


def share(part: int, whole: int) -> float:
    """Divides, also by nothing."""
    return part / whole
"#;

fn tree() -> RepositoryTree {
    let tree = RepositoryTree::with(&[("prices.py", PRICES)]);
    let presets = json!([{"FAILURE_MODES": ["hostile_input"], "SCENARIO_NAME": "hostile_input"}]);
    tree.write_in_work("few.json", presets.to_string());
    tree
}

fn run(tree: &RepositoryTree, options: &[&str]) -> InvocationOutcome {
    let all = ["--preset-file", "few.json"].into_iter().chain(options.iter().copied());
    tree.on_repository("run", all).run()
}

fn data(tree: &RepositoryTree, name: &str) -> String {
    std::fs::read_to_string(tree.work().join("sandbox_data").join(name)).unwrap()
}

/// A history in the current layout, whose ROI and metrics rise.
fn history(cycles: u32) -> String {
    let levels: Vec<f64> =
        (0..cycles).map(|at| 0.3 + 0.01 * f64::from(at) + 0.005 * f64::from(at * 7 % 5)).collect();
    let deltas: Vec<f64> =
        std::iter::once(0.0).chain(levels.windows(2).map(|pair| pair[1] - pair[0])).collect();
    let marks: Vec<Value> =
        (1..=cycles).map(|number| json!({"number": number, "at_ms": number, "run": "r"})).collect();
    json!({
        "version": 1, "cycles": marks, "roi_levels": levels, "roi_history": deltas,
        "metrics_history": {"reliability": levels},
        "modules": {"a.py": {"levels": levels, "deltas": deltas, "raroi": [0.4]},
                    "b.py": {"levels": [0.2, 0.9, 0.1], "deltas": [0.0, 0.7, -0.8], "raroi": [0.6]}},
    })
    .to_string()
}

#[test]
fn runs_are_cycles_with_metrics_roi_and_a_forecast() {
    let tree = tree();
    let report =
        run(&tree, &["--runs", "2", "--json", "--forecast-log", "forecasts.jsonl"]).exits_with(1).json();
    let second = &report["runs"][1]["roi"];
    assert_eq!(second["cycle"], 2);
    let module = &second["modules"][0];
    assert_eq!(module["module"], "prices.py");
    let (roi, raroi) = (module["roi"].as_f64().unwrap(), module["raroi"].as_f64().unwrap());
    assert!(raroi < roi && roi < 1.0, "division by zero reduces the ROI: {module}");
    let reliability = second["metrics"]["reliability"].as_f64().unwrap();
    assert!((0.3..1.0).contains(&reliability), "{reliability}");
    // A metric that was not measured has a reason and no value.
    assert!(second["unavailable"]["patch_complexity"].as_str().unwrap().contains("no patch"));
    assert_eq!(second["metrics"]["patch_complexity"], Value::Null);
    assert!(second["forecast"]["model"].is_string() && second["scenarios"].as_array().unwrap().len() >= 2);
    let kept: Value = serde_json::from_str(&data(&tree, "roi_history.json")).unwrap();
    assert_eq!((kept["version"].as_u64(), kept["cycles"].as_array().unwrap().len()), (Some(1), 2));
    assert_eq!(data(&tree, "threshold_log.jsonl").lines().count(), 2);
    let logged = std::fs::read_to_string(tree.work().join("forecasts.jsonl")).unwrap();
    assert_eq!(logged.lines().count(), 2);
    assert!(tree.work().join("sandbox_data/metrics.db").is_file());
    tree.menace(["roi", "forecast"]).run().success().stdout_contains(&["Predicted ROI: 0.", "model"]);
    tree.menace(["roi", "rank"]).run().success().stdout_contains(&["prices.py"]);
    let shown = run(&tree, &[]).exits_with(1);
    shown.stdout_contains(&[
        "Metrics",
        "unavailable: no patch was made",
        "ROI by module",
        "Next ROI",
        "in cycle 3",
    ]);
}

#[test]
fn a_run_of_selected_modules_is_not_recorded() {
    let tree = tree();
    let report = run(&tree, &["--json", "--modules", "prices.py"]).exits_with(1).json();
    assert!(report["roi"]["roi"].is_number() && report["roi"]["forecast"].is_null());
    assert!(!tree.work().join("sandbox_data/roi_history.json").exists());
}

#[test]
fn histories_are_queried_including_those_of_the_first_editions() {
    let tree = RepositoryTree::new();
    tree.write_in_work("ours.json", history(30));
    tree.write_in_work(
        "run1/roi_history.json",
        r#"{"roi_history": [0.1, 0.2], "module_deltas": {"m.py": [0.1, 0.2]},
            "metrics_history": {"security_score": [0.8, 0.82], "synergy_roi": [0.1, -0.3]},
            "predicted_metrics": {"security_score": [0.7, 0.82]},
            "scenario_roi_deltas": {"scenario_b": [1.0], "scenario_a": [1.0, 2.25]},
            "scenario_synergy": {"scenario_a": [{"synergy_revenue": 2.0}], "scenario_b": [{"synergy_revenue": 3.0}]}}"#,
    );
    let forecast =
        tree.menace(["roi", "forecast", "ours.json", "--horizon", "3", "--json"]).run().success().json();
    let steps = forecast["steps"].as_array().unwrap();
    let (low, high) = (steps[2]["interval"][0].as_f64().unwrap(), steps[2]["interval"][1].as_f64().unwrap());
    assert!(steps.len() == 3 && low < 0.63 && high > 0.6, "{forecast}");
    assert!(forecast["beats_last_value_by"].as_f64().unwrap() > 0.0, "{forecast}");
    let ranked = tree.menace(["roi", "rank", "ours.json", "--json"]).run().success().json();
    assert_eq!(ranked["modules"][0]["name"], "a.py", "b.py has a higher ROI but is less reliable: {ranked}");
    let reliable =
        tree.menace(["roi", "reliability", "run1", "--metric", "security_score", "--json"]).run().success();
    assert!(reliable.json()["reliability"].as_f64().unwrap() > 0.9);
    tree.menace(["roi", "predict-metric", "run1", "security_score"])
        .run()
        .success()
        .stdout_contains(&["Predicted security_score"]);
    let ranks = tree.menace(["rank-scenarios", "run1"]).run().success().stdout;
    assert!(ranks.find("scenario_a") < ranks.find("scenario_b") && ranks.contains("0.82"), "{ranks}");
    let ranks = tree.menace(["rank-scenario-synergy", "run1", "--metric", "revenue"]).run().success().stdout;
    assert!(ranks.find("scenario_b") < ranks.find("scenario_a"), "{ranks}");
    tree.menace(["rank-synergy", "run1", "run1/roi_history.json"])
        .run()
        .success()
        .stdout_contains(&["scenario_a"]);
    let drawn = tree.menace(["synergy-metrics", "--file", "run1", "--window", "4", "--plot"]).run().success();
    drawn.stdout_contains(&["synergy_roi", "-0.300", "│", "too few"]);
    tree.menace(["synergy-metrics", "--file", "run1", "--plot", "bars.svg"]).run().success();
    assert!(std::fs::read_to_string(tree.work().join("bars.svg")).unwrap().contains("<rect"));
    tree.menace(["synergy-metrics", "--file", "run1", "--plot", "bars.png"]).run().success();
    assert!(std::fs::read(tree.work().join("bars.png")).unwrap().starts_with(b"\x89PNG"));
    tree.menace(["synergy-metrics", "--file", "run1", "--plot", "bars.gif"])
        .run()
        .exits_with(2)
        .stderr_contains(&[".svg or .png"]);
}

#[test]
fn an_invalid_history_is_named_with_its_error() {
    let tree = RepositoryTree::new();
    for (text, problem) in [
        (r#"{"roi_history": [0.1, "#, "truncated"),
        (r#"{"roi_history": [0.1, NaN]}"#, "NaN"),
        (r#"{"name": "a package"}"#, "not an ROI history"),
        (r#"{"version": 7, "roi_levels": []}"#, "version 7"),
    ] {
        tree.write_in_work("h.json", text);
        tree.menace(["roi", "forecast", "h.json"])
            .run()
            .exits_with(2)
            .stderr_contains(&["h.json", problem, "\nhint: "]);
    }
    tree.write_in_work("h.json", r#"{"roi_history": []}"#);
    tree.menace(["roi", "forecast", "h.json"])
        .run()
        .exits_with(2)
        .stderr_contains(&["no values to continue"]);
    tree.write_in_work("h.json", r#"{"roi_history": [0.5]}"#);
    tree.menace(["roi", "forecast", "h.json"]).run().success().stdout_contains(&[
        "0.500",
        "there is one value",
        "last value",
    ]);
    tree.menace(["roi", "forecast", "missing.json"]).run().exits_with(2).stderr_contains(&["missing.json"]);
    tree.menace(["roi", "predict-metric", "h.json", "luck"])
        .run()
        .exits_with(2)
        .stderr_contains(&["luck cannot be forecast"]);
    tree.menace(["synergy-metrics", "--file", "h.json"])
        .run()
        .exits_with(2)
        .stderr_contains(&["menace lab workflows run"]);
}

#[test]
fn an_unreadable_history_is_kept_beside_the_new_one() {
    let tree = tree();
    tree.write_in_work("sandbox_data/roi_history.json", "{ half of it");
    run(&tree, &[]).exits_with(1).stderr_contains(&["roi_history.json is unreadable", "roi_history.json.1"]);
    assert_eq!(data(&tree, "roi_history.json.1"), "{ half of it");
    assert!(data(&tree, "roi_history.json").contains("\"version\":1"));
}

#[test]
fn plugins_measure_in_a_sandbox_and_broken_ones_are_skipped() {
    let tree = tree();
    tree.write_in_work(
        "plugins/good.py",
        "manager = tracker = None\n\n\ndef register(pm, t):\n    global manager, tracker\n    manager, tracker = pm, t\n\n\n\
         def collect_metrics(prev_roi, roi, resources):\n    \
         bot = manager.registry[next(iter(manager.registry))].bot\n    \
         tracker.record_metric_prediction('cpu_share', bot.predict_metric('cpu_share', [1.0]))\n    \
         return {'cpu_share': resources['cpu'], 'gain': roi - prev_roi}\n",
    );
    tree.write_in_work(
        "plugins/raises.py",
        "def collect_metrics(prev_roi, roi, resources):\n    return 1 / 0\n",
    );
    tree.write_in_work(
        "plugins/text.py",
        "def collect_metrics(prev_roi, roi, resources):\n    return {'a': 'b'}\n",
    );
    tree.write_in_work(
        "plugins/reads.py",
        "open('/etc/shadow')\n\n\ndef collect_metrics(*_):\n    return {}\n",
    );
    tree.write_in_work("metrics.yaml", "plugin_dirs:\n  - plugins\nextra_metrics:\n  customers: 12\n");
    let all = ["--preset-file", "few.json", "--json"];
    let outcome =
        tree.on_repository("run", all).variable("SANDBOX_METRICS_FILE", "metrics.yaml").run().exits_with(1);
    outcome.stderr_contains(&[
        "skipping plugin",
        "raises.py: ",
        "ZeroDivisionError",
        "text.py: ",
        "reads.py: ",
    ]);
    let metrics = &outcome.json()["roi"]["metrics"];
    assert_eq!(metrics["customers"], json!(12.0));
    assert!(
        metrics["cpu_share"].as_f64().unwrap() > 0.0 && metrics["gain"].as_f64().unwrap() > 0.0,
        "{metrics}"
    );
    tree.write_in_work("metrics.yaml", "plugin_dir: plugins\n");
    let wrong = tree.on_repository("run", all).variable("SANDBOX_METRICS_FILE", "metrics.yaml").run();
    wrong.exits_with(2).stderr_contains(&["metrics.yaml", "plugin_dir"]);
}

#[test]
fn a_profile_decides_what_counts_and_vetoes() {
    let tree = tree();
    tree.write_in_work("profile.yaml", "weights: {reliability: 1.0}\nvetoes:\n  reliability: {min: 0.99}\n");
    let with = |profile: &str| {
        tree.on_repository("run", ["--preset-file", "few.json", "--json"])
            .variable("SANDBOX_ROI_PROFILE", profile)
            .run()
    };
    let report = with("profile.yaml").exits_with(1).json();
    let module = &report["roi"]["modules"][0];
    assert_eq!(module["roi"], json!(-1.0));
    assert!(module["vetoes"][0].as_str().unwrap().contains("is below 0.99"), "{module}");
    tree.write_in_work("wrong.yaml", "weights: {reliability: -1.0}\n");
    with("wrong.yaml").exits_with(2).stderr_contains(&["wrong.yaml", "invalid weight of reliability"]);
    with("missing.yaml").exits_with(2).stderr_contains(&["missing.yaml"]);
}

#[test]
fn weights_are_shown_changed_and_remembered() {
    let tree = RepositoryTree::new();
    let shown = tree.menace(["synergy", "show", "--json"]).run().success().json();
    assert_eq!(shown["weights"].as_object().unwrap().len(), 7);
    tree.write_in_work("mine.json", r#"{"roi": 2.5}"#);
    tree.menace(["synergy", "import", "mine.json"]).run().success();
    tree.menace(["synergy", "export", "out.json"]).run().success();
    assert!(std::fs::read_to_string(tree.work().join("out.json")).unwrap().contains("2.5"));
    let overridden = tree.menace(["synergy", "show", "--json"]).variable("SYNERGY_WEIGHT_ROI", "0.5").run();
    assert_eq!(overridden.success().json()["weights"]["roi"], json!(0.5));
    let wrong = tree.menace(["synergy", "show"]).variable("SYNERGY_WEIGHT_ROI", "11").run();
    wrong.exits_with(2).stderr_contains(&["SYNERGY_WEIGHT_ROI is 11"]);
    tree.menace(["synergy", "reset"]).run().success();
    let past = tree.menace(["synergy", "history", "--json"]).run().success().json();
    let by: Vec<&Value> = past["history"].as_array().unwrap().iter().map(|line| &line["by"]).collect();
    assert_eq!(by, ["import", "reset"]);
    tree.write_in_work("mine.json", r#"{"luck": 1}"#);
    tree.menace(["synergy", "import", "mine.json"])
        .run()
        .exits_with(2)
        .stderr_contains(&["invalid weight luck=1"]);
    let synergy: Vec<Value> = (0..12)
        .map(|at| json!({"synergy_roi": f64::from(at * at % 7), "synergy_resilience": f64::from(at % 3)}))
        .collect();
    let history = json!({"version": 1, "roi_levels": [], "synergy_history": synergy});
    tree.write_in_work("sandbox_data/roi_history.json", history.to_string());
    let trained = tree.menace(["synergy", "train", "--json"]).run().success().json();
    assert_ne!(trained["weights"], shown["weights"]);
}

#[test]
fn the_truth_adapter_is_trained_from_enough_cycles() {
    let tree = RepositoryTree::new();
    tree.write_in_work("long.json", history(60));
    tree.write_in_work("short.json", history(5));
    tree.menace(["truth", "retrain", "short.json"])
        .run()
        .exits_with(2)
        .stderr_contains(&["too few pairs to train: 4"]);
    tree.menace(["truth", "show", "long.json"])
        .run()
        .exits_with(2)
        .stderr_contains(&["create it with: menace truth retrain"]);
    let learned = tree.menace(["truth", "retrain", "long.json", "--json"]).run().success().json();
    assert!(learned["validation_error"].as_f64() < learned["mean_error"].as_f64(), "{learned}");
    let shown = tree.menace(["truth", "show", "long.json", "--json"]).run().success().json();
    assert!((0.7..1.1).contains(&shown["next_roi"]["value"].as_f64().unwrap()), "{shown}");
}

#[test]
fn a_workflow_change_affects_workflows_that_share_modules() {
    let tree = RepositoryTree::with(&[
        ("core.py", "def base():\n    return 1\n"),
        ("cart.py", "import core\n\n\ndef add():\n    return core.base()\n"),
    ]);
    tree.menace(["workflows", "add", "foundation", "core:base"]).run().success();
    tree.menace(["workflows", "add", "buy", "cart:add"]).run().success();
    let repository = tree.repository().display().to_string();
    let wave = tree
        .menace(["workflows", "impact", "foundation", &repository, "--roi", "-1", "--json"])
        .run()
        .success();
    assert_eq!(wave.json()["impact"]["buy"]["roi"], json!(-0.5));
    tree.menace(["workflows", "impact", "sell", &repository])
        .run()
        .exits_with(2)
        .stderr_contains(&["no workflow named 'sell'"]);
}

#[test]
fn borderline_modules_get_a_small_run_of_their_own() {
    let tree = tree();
    let report = tree
        .on_repository("run", ["--preset-file", "few.json", "--runs", "3", "--json"])
        .variable("MICROPILOT_MODE", "auto")
        .variable("BORDERLINE_RAROI_THRESHOLD", "0.99")
        .variable("SANDBOX_RESOURCE_DB", "resources.db")
        .run()
        .exits_with(1)
        .json();
    let last = &report["runs"][2]["roi"]["modules"][0];
    assert_eq!(last["borderline"], "terminated", "no module has a RAROI of 0.99: {last}");
    let lines = data(&tree, "borderline_bucket.jsonl");
    assert!(
        lines.contains(r#""status":"candidate""#) && lines.contains(r#""status":"terminated""#),
        "{lines}"
    );
    assert!(tree.work().join("resources.db").is_file());
    let kept: Value = serde_json::from_str(&data(&tree, "roi_history.json")).unwrap();
    assert_eq!(kept["cycles"].as_array().unwrap().len(), 3, "a borderline run must not count as a cycle");
}
