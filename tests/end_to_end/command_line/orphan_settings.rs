//! The switches of orphan discovery, as variables and as flags.

use menace_tests::{MenaceInvocation, RepositoryTree};

/// `head` is isolated and imports `middle` and `tail`; only a test imports `tested`, which imports `helper`.
fn tree() -> RepositoryTree {
    RepositoryTree::with(&[
        ("shop/__init__.py", ""),
        ("shop/head.py", "import shop.middle\n"),
        ("shop/middle.py", "import shop.tail\n"),
        ("shop/tail.py", "x = 1\n"),
        ("shop/tested.py", "import shop.helper\n"),
        ("shop/helper.py", "x = 1\n"),
        ("tests/test_tested.py", "import shop.tested\n"),
    ])
}

fn listed(invocation: MenaceInvocation) -> Vec<String> {
    let report = invocation.run().success().json();
    let orphans = report["orphans"].as_array().unwrap().iter();
    let name = |path: &str| path.trim_start_matches("shop/").trim_end_matches(".py").to_owned();
    orphans.map(|orphan| name(orphan["path"].as_str().unwrap())).collect()
}

fn check(variable: (&str, &str), flags: &[&str], expected: &[&str]) {
    let tree = tree();
    let (name, value) = variable;
    assert_eq!(
        listed(tree.on_repository("orphans", ["--json"]).variable(name, value)),
        expected,
        "{name}={value}"
    );
    assert_eq!(listed(tree.on_repository("orphans", ["--json"]).arguments(flags)), expected, "{flags:?}");
}

#[test]
fn by_default_everything_is_followed() {
    assert_eq!(
        listed(tree().on_repository("orphans", ["--json"])),
        ["head", "helper", "middle", "tail", "tested"]
    );
}

#[test]
fn without_recursion_into_isolated_modules_their_imports_are_not_listed() {
    check(("SANDBOX_RECURSIVE_ISOLATED", "0"), &["--no-recursive-isolated"], &["head", "helper", "tested"]);
}

#[test]
fn without_recursion_into_orphans_their_imports_are_not_listed() {
    let expected = ["head", "middle", "tested"];
    check(("SANDBOX_RECURSIVE_ORPHANS", "0"), &["--no-recursive-orphans"], &expected);
    check(("SANDBOX_RECURSIVE_ORPHANS", "no"), &["--no-recursive-include"], &expected);
}

#[test]
fn chains_are_followed_as_deep_as_allowed() {
    let cases = [
        ("0", &["head", "tested"][..]),
        ("1", &["head", "helper", "middle", "tested"]),
        ("2", &["head", "helper", "middle", "tail", "tested"]),
        ("", &["head", "helper", "middle", "tail", "tested"]),
    ];
    for (depth, expected) in cases {
        check(("SANDBOX_MAX_RECURSION_DEPTH", depth), &["--max-recursion-depth", depth], expected);
    }
}

#[test]
fn isolated_modules_can_be_excluded() {
    let tree = tree();
    let report = tree
        .on_repository("orphans", ["--json"])
        .variable("SANDBOX_DISCOVER_ISOLATED", "0")
        .run()
        .success()
        .json();
    let orphans = report["orphans"].as_array().unwrap();
    assert!(orphans.iter().all(|orphan| orphan["class"] != "isolated"), "{report}");
    assert!(orphans.iter().any(|orphan| orphan["path"] == "shop/tested.py"), "{report}");
    let flagged = listed(tree.on_repository("orphans", ["--json", "--no-discover-isolated"]));
    assert!(!flagged.contains(&"head".to_owned()), "{flagged:?}");
}
