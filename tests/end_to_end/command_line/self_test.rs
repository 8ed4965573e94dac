//! `menace self-test`: the repository's own tests, and calls of modules without tests.

use menace_tests::{InvocationOutcome, RepositoryTree};
use serde_json::{Value, json};

/// An interpreter that has pytest, as `script/bootstrap` installs it.
const PYTHON: &str = "/usr/bin/python3";

fn tree() -> RepositoryTree {
    RepositoryTree::with(&[
        ("shop/__init__.py", ""),
        (
            "main.py",
            "from shop import cart, tax\n\nif __name__ == '__main__':\n    print(cart.add(1), tax.tax(2))\n",
        ),
        ("shop/cart.py", "def add(number: int) -> int:\n    return number + 1\n"),
        ("shop/tax.py", "def tax(amount: int) -> int:\n    return amount // 5\n"),
        ("shop/lonely.py", "def twice(number: int) -> int:\n    return number * 2\n"),
        ("shop/broken.py", "def share(parts: list[int]) -> float:\n    return 1 / len(parts)\n"),
        (
            "tests/test_cart.py",
            "from shop.cart import add\n\n\ndef test_add():\n    assert add(1) == 2\n\n\n\
             def test_writes(tmp_path):\n    open('here.txt', 'w').write('x')\n",
        ),
        (
            "tests/test_tax.py",
            "import pytest\n\nfrom shop.tax import tax\n\n\ndef test_tax():\n    assert tax(10) == 3\n\n\n\
             @pytest.mark.skip\ndef test_later():\n    pass\n",
        ),
    ])
}

fn run(tree: &RepositoryTree, more: &[&str]) -> InvocationOutcome {
    let repo = tree.repository().display().to_string();
    let arguments = ["self-test", "--repo", &repo, "--json", "--python", PYTHON];
    tree.menace(arguments.into_iter().chain(more.iter().copied())).run()
}

fn module<'a>(report: &'a Value, path: &str) -> &'a Value {
    let modules = report["modules"].as_array().unwrap();
    modules.iter().find(|module| module["path"] == path).unwrap_or_else(|| panic!("no {path} in {modules:?}"))
}

#[test]
fn tests_run_untested_modules_are_called_and_passing_orphans_integrated() {
    let tree = tree();
    let report = run(&tree, &[]).exits_with(1).json();
    assert_eq!(report["unavailable"], json!({}), "script/bootstrap installs pytest for {PYTHON}");
    let cart = module(&report, "shop/cart.py");
    assert_eq!((&cart["passed"], &cart["tests"]["passed"]), (&json!(true), &json!(2)));
    assert!(
        !tree.repository().join("here.txt").exists(),
        "files that a test writes must stay in its sandbox"
    );
    let tax = module(&report, "shop/tax.py");
    assert_eq!(
        (&tax["passed"], &tax["tests"]["failed"], &tax["tests"]["skipped"]),
        (&json!(false), &json!(1), &json!(1))
    );
    assert!(tax["failures"][0].as_str().unwrap().contains("test_tax.py::test_tax: assert 2 == 3"), "{tax}");
    let lonely = module(&report, "shop/lonely.py");
    assert_eq!((&lonely["passed"], &lonely["smoke"]["reached"]), (&json!(true), &json!(1)));
    assert_eq!(module(&report, "shop/broken.py")["passed"], false);

    assert!(report["integrated"].as_array().unwrap().contains(&json!("shop/lonely.py")), "{report}");
    let data = |name: &str| -> Value {
        let text = std::fs::read_to_string(tree.work().join("sandbox_data").join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    assert!(data("module_map.json")["modules"]["shop/lonely.py"].is_number());
    let left = data("orphan_modules.json")["modules"].clone();
    assert!(left.as_array().unwrap().contains(&json!("shop/broken.py")), "{left}");
    assert!(!left.as_array().unwrap().contains(&json!("shop/lonely.py")), "{left}");
    let workflows = tree.menace(["workflows", "list", "--json"]).run().success().json();
    let steps: Vec<&Value> =
        workflows["workflows"].as_array().unwrap().iter().map(|workflow| &workflow["steps"]).collect();
    assert!(steps.contains(&&json!(["shop.lonely:twice"])), "{steps:?}");
    assert!(!tree.work().join("sandbox_data/self_test_state.json").exists());
}

#[test]
fn switches_exclude_modules_and_a_missing_pytest_is_reported() {
    let tree = tree();
    let without = |name: &str| {
        let repo = tree.repository().display().to_string();
        let arguments = ["self-test", "--repo", &repo, "--json", "--python", PYTHON];
        tree.menace(arguments).variable(name, "0").run().exits_with(1).json()
    };
    for switch in ["SELF_TEST_INCLUDE_ORPHANS", "SANDBOX_AUTO_INCLUDE_ISOLATED"] {
        let report = without(switch);
        let paths: Vec<&Value> =
            report["modules"].as_array().unwrap().iter().map(|module| &module["path"]).collect();
        assert!(!paths.contains(&&json!("shop/lonely.py")), "{switch}: {paths:?}");
    }
    let named = run(&tree, &["shop/cart.py"]).success().json();
    assert_eq!(named["modules"].as_array().unwrap().len(), 1);

    // An environment without pytest: modules are called instead.
    let environment = tree.repository().join(".venv");
    let made = std::process::Command::new(PYTHON)
        .args(["-m", "venv", "--without-pip", environment.to_str().unwrap()])
        .status()
        .unwrap();
    assert!(made.success());
    let python = environment.join("bin/python").display().to_string();
    let repo = tree.repository().display().to_string();
    let report = tree
        .menace(["self-test", "--repo", &repo, "--json", "--python", &python, "shop/cart.py"])
        .run()
        .success();
    let report = report.json();
    assert!(report["unavailable"]["tests/test_cart.py"].as_str().unwrap().contains("no pytest"), "{report}");
    assert_eq!(module(&report, "shop/cart.py")["smoke"]["reached"], 1);
}

#[test]
fn an_interrupted_self_test_is_resumed() {
    let tree = tree();
    let first = run(&tree, &[]).exits_with(1).json();
    // State of a self-test in which all tests were run, and no module was called yet.
    let state = tree.work().join("sandbox_data/self_test_state.json");
    let mut running = tree
        .menace([
            "self-test",
            "--repo",
            &tree.repository().display().to_string(),
            "--json",
            "--python",
            PYTHON,
        ])
        .start();
    while !state.exists() {
        assert!(running.is_running(), "{}", running.finish().stderr);
    }
    running.kill();
    let again = run(&tree, &[]).exits_with(1);
    again.stderr_contains(&["resuming an interrupted round"]);
    assert_eq!(again.json()["modules"], first["modules"]);
}
