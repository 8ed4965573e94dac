//! Wrong usage exits with code 2 and explains the correct usage on stderr.

use menace_tests::RepositoryTree;

fn check(arguments: &[&str], expected: &[&str]) {
    let outcome = RepositoryTree::new().menace(arguments.iter().copied()).run().exits_with(2);
    assert_eq!(outcome.stdout, "", "stdout is for data");
    outcome.stderr_contains(expected);
}

#[test]
fn unknown_arguments_are_answered_with_the_valid_ones() {
    check(&["sacn"], &["scan"]);
    check(&["scan", "--jsn"], &["--json"]);
    check(&["map", "--algorithm", "kmeans"], &["kmeans", "louvain", "greedy", "label", "hdbscan"]);
    check(&["completions", "tcsh"], &["bash", "zsh", "fish"]);
    check(&["scan", "--top", "many"], &["many"]);
}

#[test]
fn a_command_is_needed() {
    check(&[], &["scan", "run", "sandbox", "config", "init", "doctor"]);
}

#[test]
fn a_repository_must_exist() {
    for command in ["scan", "orphans", "map"] {
        check(&[command, "/nonexistent/repository"], &["error: ", "/nonexistent/repository", "\nhint: "]);
    }
}

#[test]
fn a_cause_is_printed_once_and_the_hint_on_its_own_line() {
    let outcome = RepositoryTree::new().menace(["scan", "/nonexistent"]).run().exits_with(2);
    assert_eq!(outcome.stderr.matches("No such file or directory").count(), 1, "{}", outcome.stderr);
    let last = outcome.stderr.lines().last().unwrap();
    assert!(last.starts_with("hint: ") && !last.contains("os error"), "{last}");
}

#[test]
fn a_repository_must_be_a_directory() {
    let tree = RepositoryTree::with(&[("cart.py", "x = 1\n")]);
    for command in ["scan", "orphans", "map"] {
        let file = tree.repository().join("cart.py");
        let outcome = tree.menace([command]).arguments([file]).run().exits_with(2);
        outcome.stderr_contains(&["cart.py", "not a directory", "\nhint: "]);
        assert_eq!(outcome.stdout, "");
    }
}

#[test]
fn shares_and_globs_are_checked() {
    check(&["map", ".", "--threshold", "1.5"], &["1.5", "hint: ", "0 to 1"]);
    check(&["map", ".", "--threshold=-0.1"], &["-0.1", "hint: "]);
    check(&["map", ".", "--threshold", "nan"], &["hint: "]);
    check(&["scan", ".", "--exclude", "a["], &["a[", "hint: "]);
}

#[test]
fn help_and_version_are_data() {
    for arguments in [&["--help"][..], &["--version"], &["scan", "--help"], &["help", "orphans"]] {
        let outcome = RepositoryTree::new().menace(arguments.iter().copied()).run().success();
        assert_eq!(outcome.stderr, "");
        assert!(outcome.stdout.contains("menace"), "{arguments:?}: {}", outcome.stdout);
    }
}

#[test]
fn exit_codes_are_documented() {
    let outcome = RepositoryTree::new().menace(["--help"]).run().success();
    let codes = ["0 success", "1 findings", "2 usage error", "3 unsupported", "4 interrupted", "70 internal"];
    for code in codes {
        assert!(outcome.stdout.replace('\n', " ").contains(code), "{code:?} in {}", outcome.stdout);
    }
}

#[test]
fn completions_are_scripts_for_the_named_shell() {
    for (shell, expected) in
        [("bash", "complete"), ("zsh", "#compdef menace"), ("fish", "complete -c menace")]
    {
        let outcome = RepositoryTree::new().menace(["completions", shell]).run().success();
        assert!(outcome.stdout.contains(expected), "{shell}");
        assert!(
            outcome.stdout.contains("max-recursion-depth"),
            "completions for {shell} contain the settings"
        );
        assert_eq!(outcome.stderr, "");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_the_environments_fault() {
    let tree = RepositoryTree::with(&[("cart.py", "x = 1\n")]);
    tree.write_in_work("occupied", "a file\n");
    for command in ["orphans", "map"] {
        let outcome = tree.on_repository(command, ["--data-dir", "occupied/below"]).run().exits_with(3);
        outcome.stderr_contains(&["occupied/below", "hint: "]);
    }
}
