//! stdout is for data, stderr for messages, and neither has colours without a terminal.

use menace_tests::RepositoryTree;
use serde_json::Value;

fn small_tree() -> RepositoryTree {
    RepositoryTree::with(&[
        ("shop/__init__.py", ""),
        ("shop/a.py", "import shop.b\neval(input())\n"),
        ("shop/b.py", "import shop.a\n"),
        ("shop/broken.py", "def (\n"),
    ])
}

#[test]
fn json_is_one_document_and_nothing_else() {
    let tree = small_tree();
    for command in ["scan", "orphans", "map"] {
        let outcome = tree.on_repository(command, ["--json"]).run().success();
        assert!(outcome.json().is_object(), "{command}");
        assert_eq!(outcome.json()["version"], 1, "{command}");
    }
    for command in ["config", "doctor"] {
        assert!(tree.menace([command, "--json"]).run().success().json().is_array(), "{command}");
    }
}

#[test]
fn there_are_no_colours_without_a_terminal() {
    let tree = small_tree();
    for command in ["scan", "orphans", "map"] {
        for variables in
            [&[][..], &[("NO_COLOR", "1")], &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]]
        {
            let invocation = tree.on_repository(command, []);
            let outcome = variables
                .iter()
                .fold(invocation, |it, (name, value)| it.variable(name, value))
                .run()
                .success();
            assert!(!outcome.stdout.contains('\u{1b}'), "{command} {variables:?}: {}", outcome.stdout);
            assert!(!outcome.stderr.contains('\u{1b}'), "{command} {variables:?}: {}", outcome.stderr);
        }
    }
    let failed = tree.menace(["scan", "/nonexistent"]).run().exits_with(2);
    assert!(!failed.stderr.contains('\u{1b}'), "{}", failed.stderr);
}

#[test]
fn the_summary_names_what_was_found() {
    let outcome = small_tree().on_repository("scan", []).run().success();
    let expected =
        ["4 modules", "shop.a ⇄ shop.b", "B307", "shop/a.py:2", "shop/broken.py", "orphan", "Risk", "Cycles"];
    for text in expected {
        assert!(outcome.stdout.contains(text), "{text:?} is missing in\n{}", outcome.stdout);
    }
    outcome.stderr_contains(&["reading", "4 files"]);
    assert!(!outcome.stdout.contains("reading"), "progress belongs on stderr");
}

#[test]
fn long_tables_are_cut_and_say_so() {
    let tree = RepositoryTree::new();
    for index in 0..15 {
        tree.write(&format!("module_{index:02}.py"), "x = 1\n");
    }
    let rows = |options: &[&str]| {
        let outcome = tree.on_repository("scan", options.iter().copied()).run().success();
        (outcome.stdout.matches("isolated").count(), outcome.stdout.contains("and 12 more"))
    };
    assert_eq!(rows(&["--top", "3"]), (3, true));
    assert_eq!(rows(&["--top", "0"]), (15, false));
    assert_eq!(rows(&[]), (10, false));
}

#[test]
fn an_empty_repository_is_fine() {
    let tree = RepositoryTree::new();
    let inventory = tree.inventory();
    assert_eq!(inventory["modules"], Value::Array(vec![]));
    assert_eq!(inventory["diagnostics"], Value::Array(vec![]));
    for command in ["scan", "orphans", "map"] {
        tree.on_repository(command, []).run().success();
    }
}

#[test]
fn the_root_is_absolute_and_paths_are_relative() {
    let tree = small_tree();
    let inventory = tree.menace(["scan", "../repository", "--json"]).run().success().json();
    let root = std::fs::canonicalize(tree.repository()).unwrap();
    assert_eq!(inventory["root"], root.to_str().unwrap());
    let paths: Vec<&str> =
        inventory["modules"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["shop/__init__.py", "shop/a.py", "shop/b.py", "shop/broken.py"]);
}

#[test]
fn nothing_is_written_into_the_repository() {
    let tree = small_tree();
    for command in ["scan", "orphans", "map"] {
        tree.on_repository(command, []).run().success();
    }
    let names: Vec<_> =
        std::fs::read_dir(tree.repository()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["shop"]);
}

#[test]
fn logs_are_lines_of_json_on_request() {
    let tree = small_tree();
    tree.write_in_work("sandbox_settings.yaml", "no_such_setting: 1\n");
    for arguments in [&["config"][..], &["scan", "../repository"], &["orphans", "../repository"]] {
        let outcome = tree
            .menace(arguments.iter().copied())
            .variable("SANDBOX_JSON_LOGS", "1")
            .variable("SANDBOX_AUTODISCOVER_MODULES", "0")
            .run()
            .success();
        for line in outcome.stderr.lines() {
            let entry: Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {line:?} is not JSON"));
            assert!(entry["level"].is_string() && entry["message"].is_string(), "{line}");
        }
        outcome.stderr_contains(&["no_such_setting", "deprecated"]);
    }
}

#[test]
fn the_log_level_is_obeyed() {
    let tree = small_tree();
    let warns = |arguments: &[&str], variables: &[(&str, &str)]| {
        let invocation = tree.menace(arguments.iter().copied()).variable("SANDBOX_AUTODISCOVER_MODULES", "0");
        let outcome = variables.iter().fold(invocation, |it, (name, value)| it.variable(name, value)).run();
        outcome.success().stderr.contains("deprecated")
    };
    assert!(warns(&["config"], &[]));
    assert!(!warns(&["config", "--log-level", "error"], &[]));
    assert!(!warns(&["config"], &[("LOG_LEVEL", "error")]));
    assert!(warns(&["config"], &[("LOG_LEVEL", "error"), ("SANDBOX_LOG_LEVEL", "warning")]));
    assert!(warns(&["config", "--verbose"], &[("SANDBOX_LOG_LEVEL", "off")]));
}

#[test]
fn a_closed_stdout_is_not_a_failure() {
    let tree = RepositoryTree::new();
    for index in 0..400 {
        tree.write(&format!("module_{index}.py"), "def f(a, b, c): return a.x + b.y + c.z\n");
    }
    let script =
        "\"$1\" scan \"$2\" --json --no-cache 2>error | head -c 10 >/dev/null; echo ${PIPESTATUS[0]}";
    let output = std::process::Command::new("bash")
        .args(["-c", script, "bash"])
        .args([menace_tests::menace_binary(), tree.repository().as_path()])
        .current_dir(tree.work())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0");
    let error = std::fs::read_to_string(tree.work().join("error")).unwrap();
    assert!(!error.contains("panicked") && !error.contains("error:"), "{error}");
}
