//! Networks that cannot be.

use menace_tests::{Outcome, Tree};

/// Runs with a file of rules that cannot be used.
fn with_rules(name: &str, rules: &str) -> Outcome {
    let tree = Tree::new();
    tree.write_in_work(name, rules);
    refused(&tree, &["--net", &format!("mock={name}")])
}

/// Runs something that must not run.
fn refused(tree: &Tree, arguments: &[&str]) -> Outcome {
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
        (r#"[{"host": "a"}, {"path": "v1"}]"#, "the path 'v1' does not begin with / or *"),
        (r#"[{}, {"respond": {"status": 99}}]"#, "99 is no status"),
        (r#"[{}, {"method": "G T"}]"#, "'G T' is no method"),
        (r#"[{}, {"respond": {"body": "a", "json": 1}}]"#, "one of body, json and file"),
        (r#"[{}, {"respond": {"fail_every": 0}}]"#, "counted from 1"),
        ("- {}\n- respond: {file: missing.bin}\n", "missing.bin: No such file or directory"),
    ] {
        with_rules("rules.yaml", rules).says(&["the rules of rules.yaml cannot be used", "rule 2", problem]);
    }
}

#[test]
fn a_file_that_has_no_rules_is_named_and_what_is_wrong_with_it() {
    for (rules, problem) in [
        (r#"[{"hots": "a"}]"#, "unknown field `hots`"),
        (r#"[{"respond": {"fault": "explode"}}]"#, "unknown variant `explode`"),
        (r#"[{"respond": {"delay": "soon"}}]"#, "'soon' is no duration"),
        (r#"{"rules": ["#, "line 1"),
        ("", "expected a list of rules"),
        ("a text", "expected a list of rules"),
    ] {
        with_rules("rules.yaml", rules).says(&["the rules of rules.yaml cannot be used", problem]);
    }
    refused(&Tree::new(), &["--net", "mock=missing.yaml"])
        .says(&["missing.yaml", "No such file or directory"]);
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
        refused(&Tree::new(), options).says(&["there is no network to shape", "\nhint: add --net"]);
    }
}

#[test]
fn values_that_are_none_are_answered_with_what_is_expected() {
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
        (&["--net", "deny", "--shaper", "netem", "--fault-window", "1s-2s"], "no windows of time"),
    ] {
        refused(&Tree::new(), options).exits_with(2).says(&[expected]);
    }
}

#[test]
fn what_cannot_be_used_is_wrong_usage() {
    for rules in [r#"[{"path": "v1"}]"#, r#"[{"hots": "a"}]"#, "", "{"] {
        with_rules("rules.yaml", rules).exits_with(2).says(&["\nhint: "]);
    }
    refused(&Tree::new(), &["--latency", "200ms"]).exits_with(2);
    refused(&Tree::new(), &["--net", "none", "--net", "deny"]).exits_with(2);
}
