//! Presets of runs: their sources, and that their limits and faults take effect.

use menace_tests::{InvocationOutcome, RepositoryTree};
use serde_json::{Value, json};

/// One defect for each kind of resource strain, each with a correct counterpart.
const STRAINED: &str = r#"
import os
import queue
import tempfile
import threading
import time


def all_at_once() -> int:
    return len([b"x" * 1_000_000 + bytes([number]) for number in range(150)])


def in_pieces() -> int:
    return sum(len(b"x" * 1_000_000 + bytes([number])) for number in range(150))


def careless() -> int:
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x" * 8_000_000)
        file.flush()
        return 8_000_000


def careful() -> int:
    try:
        return careless()
    except OSError:
        return 0


def patient() -> None:
    time.sleep(0.8)


def quick() -> None:
    time.sleep(0.01)


def work() -> None:
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass


def hurried() -> str:
    done = queue.Queue()
    threading.Thread(target=lambda: (work(), done.put("done")), daemon=True).start()
    return done.get(timeout=0.4)


def unhurried() -> str:
    done = queue.Queue()
    threading.Thread(target=lambda: (work(), done.put("done")), daemon=True).start()
    return done.get()
"#;

fn run(tree: &RepositoryTree, more: &[&str]) -> InvocationOutcome {
    let invocation = tree.on_repository("run", ["--json"].into_iter().chain(more.iter().copied()));
    // Some of the called functions sleep, and some are throttled.
    invocation.wall_limit(std::time::Duration::from_secs(150)).run()
}

fn cells<'a>(report: &'a Value, section: &str) -> Vec<(&'a str, &'a Value)> {
    let cells = report["cells"].as_array().unwrap();
    let of_section = cells.iter().filter(|cell| cell["section"] == section);
    of_section.map(|cell| (cell["scenario"].as_str().unwrap(), cell)).collect()
}

fn scenarios(report: &Value) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for cell in report["cells"].as_array().unwrap() {
        let name = cell["scenario"].as_str().unwrap().to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[test]
fn resource_strain_finds_defects_that_normal_runs_do_not() {
    let tree = RepositoryTree::with(&[("strained.py", STRAINED)]);
    let strained =
        ["resource_strain", "memory", "disk", "timeout"].map(|mode| json!({"FAILURE_MODES": [mode]}));
    tree.write_in_work("strained.json", json!(strained).to_string());
    let report = run(&tree, &["--preset-file", "strained.json"]).exits_with(1).json();
    let found: Vec<(&Value, &Value, &Value)> = report["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| (&failure["section"], &failure["scenario"], &failure["kind"]))
        .collect();
    for (section, scenario, kind) in [
        ("strained:all_at_once", "memory", "oom"),
        ("strained:careless", "disk", "disk_full"),
        ("strained:patient", "timeout", "timeout"),
        ("strained:hurried", "resource_strain", "crash"),
    ] {
        let of_section = cells(&report, section);
        let cell = of_section.iter().find(|(name, _)| *name == scenario).unwrap().1;
        assert!(kind.split(' ').any(|kind| cell[kind].as_u64().unwrap_or(0) > 0), "{cell}");
        assert!(found.iter().any(|(of, _, _)| **of == section), "{section}: {found:?}");
    }
    for right in ["in_pieces", "careful", "quick", "unhurried"] {
        let section = format!("strained:{right}");
        assert!(found.iter().all(|(of, _, _)| **of != section), "{section}: {found:?}");
    }
    // Calls without the fault are not counted, and the cell has a reason.
    let quick = cells(&report, "strained:quick");
    let memory = quick.iter().find(|(scenario, _)| *scenario == "memory").unwrap().1;
    assert_eq!((&memory["n"], &memory["robustness"]), (&json!(0), &Value::Null));
    assert!(memory["void_reason"].as_str().unwrap().contains("half of the memory"), "{memory}");
    let network = quick.iter().find(|(scenario, _)| *scenario == "high_latency_api").unwrap().1;
    assert!(network["void_reason"].as_str().unwrap().contains("packets"), "{network}");
}

#[test]
fn presets_come_from_files_a_variable_or_are_generated() {
    let tree = RepositoryTree::with(&[("small.py", "def same(name: str) -> str:\n    return name\n")]);
    tree.write_in_work("one.json", r#"{"SCENARIO_NAME": "tight", "MEMORY_LIMIT": "128Mi"}"#);
    tree.write_in_work("two.json", r#"[{"SCENARIO_NAME": "slow", "CPU_LIMIT": "0.5"}]"#);
    let files = ["--preset-file", "one.json", "--preset-file", "two.json", "--runs", "3", "--seed", "4"];
    let runs = run(&tree, &files).success().json();
    let runs = runs["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["seed"].as_u64().unwrap()).collect::<Vec<_>>(), [4, 5, 6]);
    for (round, name) in runs.iter().zip(["tight", "slow", "tight"]) {
        let names = scenarios(round);
        assert_eq!(names[..2], ["normal", name], "{names:?}");
        // The four scenarios that every module runs under are added.
        for covered in ["high_latency_api", "hostile_input", "user_misuse", "concurrency_spike"] {
            assert!(names.iter().any(|known| known == covered), "{covered} is missing in {names:?}");
        }
    }
    let given = |value: &str| {
        let invocation = tree.on_repository("run", ["--json"]).variable("SANDBOX_ENV_PRESETS", value);
        invocation.run()
    };
    let report = given(r#"[{"SCENARIO_NAME": "mine", "FAILURE_MODES": "schema_drift"}]"#).success().json();
    assert!(scenarios(&report).contains(&"mine".to_owned()));
    let wrong = given(r#"[{"MEMROY_LIMIT": "1g"}]"#).exits_with(2);
    assert!(wrong.stderr.contains("MEMORY_LIMIT"), "{}", wrong.stderr);

    let made = run(&tree, &["--preset-count", "5"]).success().json();
    assert!(scenarios(&made).contains(&"generated_5".to_owned()));
    let none = tree
        .on_repository("run", ["--json"])
        .variable("SANDBOX_GENERATE_PRESETS", "0")
        .run()
        .success()
        .json();
    assert_eq!(scenarios(&none).len(), 5, "{:?}", scenarios(&none));
    let both = tree
        .on_repository("run", ["--json"])
        .variable("SANDBOX_PRESET_MODE", "canonical")
        .run()
        .success()
        .json();
    let hostile = cells(&both, "small:same").into_iter().filter(|(scenario, _)| *scenario == "hostile_input");
    assert_eq!(hostile.map(|(_, cell)| cell["severity"].clone()).collect::<Vec<_>>(), ["low", "high"]);
}

#[test]
fn path_keywords_choose_profiles_and_a_missing_scenario_can_fail() {
    let tree = RepositoryTree::with(&[
        ("auth.py", "def same(name: str) -> str:\n    return name\n"),
        ("other.py", "def same(name: str) -> str:\n    return name\n"),
    ]);
    tree.write_in_work("sandbox_settings.yaml", "keyword_profiles:\n  other: [schema_drift]\n");
    let report = run(&tree, &[]).success().json();
    let high = |section: &str| -> Vec<String> {
        let cells = cells(&report, section).into_iter().filter(|(_, cell)| cell["severity"] == "high");
        cells.map(|(scenario, _)| scenario.to_owned()).collect()
    };
    assert_eq!(high("auth:same"), ["hostile_input", "user_misuse"]);
    assert_eq!(high("other:same"), ["schema_drift"]);
    let strict =
        tree.on_repository("run", []).variable("SANDBOX_FAIL_ON_MISSING_SCENARIOS", "1").run().exits_with(1);
    assert!(strict.stderr.contains("auth was not called under high_latency_api"), "{}", strict.stderr);
}

#[test]
fn given_arguments_are_used() {
    let tree = RepositoryTree::with(&[(
        "small.py",
        "def ratio(part: int, whole: int) -> float:\n    if (part, whole) == (31337, 4242):\n        \
         return part / 0\n    return 1.0\n",
    )]);
    let given =
        |value: &str| tree.on_repository("run", ["--json"]).variable("SANDBOX_INPUT_STUBS", value).run();
    let report = given(r#"[{"part": 31337, "whole": 4242}]"#).exits_with(1).json();
    assert_eq!(report["failures"][0]["exception"], "ZeroDivisionError");
    assert!(report["failures"][0]["input"].to_string().contains("31337"), "{}", report["failures"][0]);
    run(&tree, &[]).success();
    let fails = |report: &Value| report["failures"][0]["exception"] == "ZeroDivisionError";

    let plugin = "def generate_stubs(stubs, context):\n    if context['function'] == 'ratio':\n        \
                  assert context['parameters'] == ['part', 'whole']\n        \
                  return [*stubs, {'part': 31337, 'whole': 4242}]\n";
    tree.write_in_work("plugin.py", plugin);
    let with_plugin =
        |path: &str| tree.on_repository("run", ["--json"]).variable("SANDBOX_STUB_PLUGINS", path).run();
    assert!(fails(&with_plugin("plugin.py").exits_with(1).json()));
    tree.write_in_work("broken.py", "def generate_stubs(stubs, context):\n    return [3]\n");
    let broken = with_plugin("broken.py").exits_with(2);
    assert!(
        broken.stderr.contains("broken.py") && broken.stderr.contains("not a dictionary"),
        "{}",
        broken.stderr
    );

    // The last run was the one with the plugin, but only successful runs are in the history.
    let history =
        tree.on_repository("run", ["--json"]).variable("SANDBOX_STUB_STRATEGY", "history").run().success();
    history.stderr_contains(&["argument set"]);
    let templates = r#"{"version": 1, "stubs": {"small:ratio": [{"part": 31337, "whole": 4242}]}}"#;
    tree.write_in_work("sandbox_data/stub_templates.json", templates);
    assert!(fails(&run(&tree, &[]).exits_with(1).json()));
    tree.write_in_work("sandbox_data/stub_templates.json", "{}");
    assert!(run(&tree, &[]).exits_with(2).stderr.contains("stub_templates.json"));
    std::fs::remove_file(tree.work().join("sandbox_data/stub_templates.json")).unwrap();
    let synthetic =
        tree.on_repository("run", []).variable("SANDBOX_STUB_STRATEGY", "synthetic").run().exits_with(2);
    assert!(synthetic.stderr.contains("language model"), "{}", synthetic.stderr);
    assert!(given("[3]").exits_with(2).stderr.contains("SANDBOX_INPUT_STUBS"));
}

#[test]
fn the_interpreter_of_the_repository_is_used_with_its_packages() {
    let tree = RepositoryTree::with(&[(
        "uses.py",
        "import only_here\n\n\ndef value() -> int:\n    return only_here.VALUE\n",
    )]);
    let environment = tree.repository().join(".venv");
    let made = std::process::Command::new("python3")
        .args(["-m", "venv", "--without-pip", environment.to_str().unwrap()])
        .status()
        .unwrap();
    assert!(made.success());
    let packages = std::fs::read_dir(environment.join("lib")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(packages.join("site-packages/only_here.py"), "VALUE = 7\n").unwrap();
    let report = run(&tree, &[]).success().json();
    assert_eq!(
        (&report["sections"], &report["reached"]),
        (&json!(1), &json!(1)),
        "{}",
        report["harness_errors"]
    );
}

#[test]
fn thread_interleavings_are_deterministic() {
    // Nothing blocks between the check and the act, so freely scheduled threads hardly ever race there.
    let tree = RepositoryTree::with(&[(
        "race.py",
        "import threading\n\n\nclass SoldOut(Exception):\n    \"\"\"There is none.\"\"\"\n\n\nclass Shelf:\n    \
         def __init__(self):\n        self.left = [1, 2]\n        self.lock = threading.Lock()\n\n    \
         def take(self) -> int:\n        if not self.left:\n            raise SoldOut('nothing is left')\n        \
         return self.left.pop()\n\n    \
         def take_locked(self) -> int:\n        with self.lock:\n            if not self.left:\n                \
         raise SoldOut('nothing is left')\n            return self.left.pop()\n",
    )]);
    let spike = json!([{"FAILURE_MODES": ["concurrency_spike"], "SCENARIO_NAME": "spike"}]);
    tree.write_in_work("spike.json", spike.to_string());
    for seed in ["1", "2"] {
        let of_seed = || {
            let options = ["--preset-file", "spike.json", "--seed", seed];
            run(&tree, &options).exits_with(1).json()
        };
        let (first, second) = (of_seed(), of_seed());
        let taken = cells(&first, "race:Shelf.take");
        let spike = taken.iter().find(|(scenario, _)| *scenario == "spike").unwrap().1;
        assert!(spike["crash"].as_u64().unwrap_or(0) > 0, "{spike}");
        assert_eq!(first["cells"], second["cells"]);
        let sections: Vec<&Value> =
            first["failures"].as_array().unwrap().iter().map(|failure| &failure["section"]).collect();
        assert_eq!(sections, ["race:Shelf.take"]);
    }
}
