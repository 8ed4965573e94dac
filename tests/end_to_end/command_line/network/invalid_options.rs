//! Invalid network options.

use menace_tests::{InvocationOutcome, RepositoryTree};

/// Runs with an invalid rules file.
fn with_rules(name: &str, rules: &str) -> InvocationOutcome {
    let tree = RepositoryTree::new();
    tree.write_in_work(name, rules);
    refused(&tree, &["--net", &format!("mock={name}")])
}

/// Runs a command that must be refused.
fn refused(tree: &RepositoryTree, arguments: &[&str]) -> InvocationOutcome {
    let invocation =
        tree.menace(["sandbox", "run"]).arguments(arguments).arguments(["--", "touch", "/workspace/ran"]);
    let outcome = invocation.run();
    assert_ne!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.stdout, "");
    outcome
}

#[test]
fn a_wrong_rule_is_named_with_its_file() {
    for (rules, problem) in [
        (r#"[{"host": "a"}, {"path": "v1"}]"#, "path 'v1' does not start with / or *"),
        (r#"[{}, {"respond": {"status": 99}}]"#, "invalid status 99"),
        (r#"[{}, {"method": "G T"}]"#, "invalid method 'G T'"),
        (r#"[{}, {"respond": {"body": "a", "json": 1}}]"#, "one of body, json and file"),
        (r#"[{}, {"respond": {"fail_every": 0}}]"#, "counted from 1"),
        ("- {}\n- respond: {file: missing.bin}\n", "missing.bin: No such file or directory"),
    ] {
        with_rules("rules.yaml", rules).stderr_contains(&[
            "invalid mock rules in rules.yaml",
            "rule 2",
            problem,
        ]);
    }
}

#[test]
fn an_invalid_rules_file_is_named_with_its_error() {
    for (rules, problem) in [
        (r#"[{"hots": "a"}]"#, "unknown field `hots`"),
        (r#"[{"respond": {"fault": "explode"}}]"#, "unknown variant `explode`"),
        (r#"[{"respond": {"delay": "soon"}}]"#, "invalid duration 'soon'"),
        (r#"{"rules": ["#, "line 1"),
        ("", "expected a list of rules"),
        ("a text", "expected a list of rules"),
    ] {
        with_rules("rules.yaml", rules).stderr_contains(&["invalid mock rules in rules.yaml", problem]);
    }
    refused(&RepositoryTree::new(), &["--net", "mock=missing.yaml"])
        .stderr_contains(&["missing.yaml", "No such file or directory"]);
}

#[test]
fn without_a_network_there_is_nothing_to_shape() {
    for options in [
        &["--latency", "200ms"][..],
        &["--loss", "5%"],
        &["--bandwidth", "1mbit", "--net", "none"],
        &["--partition", "api.test.example"],
        &["--dns", "127.0.0.1:5353"],
        &["--shaper", "netem"],
    ] {
        refused(&RepositoryTree::new(), options)
            .stderr_contains(&["there is no network to shape", "\nhint: add --net"]);
    }
}

#[test]
fn invalid_values_are_answered_with_the_expected_format() {
    for (options, expected) in [
        (&["--net", "allow=example.com/8"][..], "example.com/8"),
        (&["--net", "allow="], "api.example.com:443"),
        (&["--net", "open"], "none, deny, allow=HOST"),
        (&["--net", "deny", "--loss", "150%"], "0 to 100"),
        (&["--net", "deny", "--bandwidth", "0"], "512kbit"),
        (&["--net", "deny", "--jitter", "1ms"], "--latency"),
        (&["--net", "deny", "--fault-window", "3s-1s"], "1s-3s"),
        (&["--net", "deny", "--dns", "localhost"], "127.0.0.1:5353"),
        (&["--net", "deny", "--partition", "a b"], "a b"),
        (&["--net", "deny", "--shaper", "tc"], "menace or netem"),
        (&["--net", "deny", "--shaper", "netem", "--fault-window", "1s-2s"], "does not support time windows"),
    ] {
        refused(&RepositoryTree::new(), options).exits_with(2).stderr_contains(&[expected]);
    }
}

#[test]
fn unusable_options_are_wrong_usage() {
    for rules in [r#"[{"path": "v1"}]"#, r#"[{"hots": "a"}]"#, "", "{"] {
        with_rules("rules.yaml", rules).exits_with(2).stderr_contains(&["\nhint: "]);
    }
    refused(&RepositoryTree::new(), &["--latency", "200ms"]).exits_with(2);
    refused(&RepositoryTree::new(), &["--net", "none", "--net", "deny"]).exits_with(2);
}
