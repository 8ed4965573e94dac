//! Expressions and statements nested deeper than any stack.

use super::{diagnostics_of, module, survive, tree};

/// Asserts that the text is refused with a diagnostic, because it cannot be parsed.
fn check_refused(text: &str) {
    let tree = tree();
    tree.write("deep.py", text);
    let inventory = survive(&tree);
    assert!(!diagnostics_of(&inventory, "deep.py").is_empty());
    assert!(module(&inventory, "deep.py").is_some());
}

/// Asserts that the scan does not crash on a text that is deep, but not too deep to be parsed.
fn check_survived(text: &str) {
    let tree = tree();
    tree.write("deep.py", text);
    assert!(module(&survive(&tree), "deep.py").is_some());
}

/// Just below the depth at which a file is refused.
const DEEP: usize = 45_000;

#[test]
fn ten_megabytes_of_open_brackets() {
    for bracket in ["(", "[", "{"] {
        check_refused(&bracket.repeat(10_000_000));
    }
}

#[test]
fn five_megabytes_of_signs() {
    check_refused(&"-".repeat(5_000_000));
    check_refused(&format!("{}1\n", "-".repeat(5_000_000)));
    check_refused(&format!("{}1\n", "not ".repeat(1_000_000)));
    check_refused(&format!("{}1\n", "await ".repeat(1_000_000)));
}

#[test]
fn five_megabytes_of_chains() {
    check_survived(&format!("x{}\n", ".a".repeat(2_500_000)));
    check_survived(&format!("x{}\n", "()".repeat(2_500_000)));
    check_survived(&format!("x{}\n", " + x".repeat(1_000_000)));
    check_survived(&format!("x = {}1\n", "lambda: ".repeat(500_000)));
}

#[test]
fn brackets_as_deep_as_allowed() {
    check_survived(&format!("{}1{}\n", "(".repeat(DEEP), ")".repeat(DEEP)));
    check_survived(&format!("{}1{}\n", "[".repeat(DEEP), "]".repeat(DEEP)));
    check_survived(&format!("{}1{}\n", "f(".repeat(DEEP / 2), ")".repeat(DEEP / 2)));
    check_survived(&format!("{}1{}\n", "{1: ".repeat(DEEP / 3), "}".repeat(DEEP / 3)));
}

#[test]
fn operators_as_deep_as_allowed() {
    check_survived(&format!("{}1\n", "-".repeat(DEEP)));
    check_survived(&format!("{}1\n", "not ".repeat(DEEP)));
    check_survived(&format!("x{}\n", " + x".repeat(DEEP / 2)));
    check_survived(&format!("x{}\n", " ** x".repeat(DEEP / 2)));
    check_survived(&format!("x{}\n", ".a".repeat(DEEP / 2)));
    check_survived(&format!("x{}\n", "[0]".repeat(DEEP / 2)));
}

#[test]
fn conditions_and_lambdas_as_deep_as_allowed() {
    check_survived(&format!("x = {}1\n", "1 if x else ".repeat(DEEP / 4)));
    check_survived(&format!("x = {}1\n", "lambda: ".repeat(DEEP / 2)));
    check_survived(&format!("x = {}1\n", "(y := ".repeat(DEEP / 3)));
    check_survived(&format!("x = {}1{}\n", "[x for x in ".repeat(DEEP / 6), "]".repeat(DEEP / 6)));
}

#[test]
fn patterns_and_annotations_as_deep_as_allowed() {
    let pattern = format!("{}1{}", "[".repeat(DEEP / 2), "]".repeat(DEEP / 2));
    check_survived(&format!("match x:\n    case {pattern}:\n        pass\n"));
    check_survived(&format!("match x:\n    case {}1:\n        pass\n", "1 | ".repeat(DEEP / 4)));
    check_survived(&format!("def f(a: {}int{}): ...\n", "list[".repeat(DEEP / 3), "]".repeat(DEEP / 3)));
}

#[test]
fn format_strings_in_format_strings() {
    check_survived(&format!("x = {}1{}\n", "f\"{".repeat(2_000), "}\"".repeat(2_000)));
    check_survived(&format!("x = f\"{}{}\"\n", "{x:".repeat(2_000), "}".repeat(2_000)));
    check_survived(&format!("x = f\"{}\"\n", "{x}".repeat(100_000)));
}

#[test]
fn long_chains_of_branches() {
    let elifs: String = (0..20_000).map(|index| format!("elif x == {index}:\n    y = {index}\n")).collect();
    check_survived(&format!("if x:\n    y = 1\n{elifs}"));
    check_survived(&format!("x = {}1\n", "x and ".repeat(100_000)));
    check_survived(&format!("x = 1 {}\n", "< x ".repeat(100_000)));
    check_survived(&format!("{}1\n", "x = ".repeat(100_000)));
}

#[test]
fn blocks_in_blocks() {
    let nested = |head: &str, depth: usize| -> String {
        let mut text: String = (0..depth).map(|level| format!("{}{head}\n", " ".repeat(level))).collect();
        text.push_str(&format!("{}pass\n", " ".repeat(depth)));
        text
    };
    for head in ["if x:", "def f():", "class C:", "for x in y:", "with x:", "while x:"] {
        check_survived(&nested(head, 1_000));
    }
}

#[test]
fn many_decorators_and_targets() {
    check_survived(&format!("{}def f(): ...\n", "@d\n".repeat(50_000)));
    check_survived(&format!("del {}x\n", "x, ".repeat(100_000)));
    check_survived(&format!("{}, = x\n", "*".repeat(40_000)));
}
