use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use similar::TextDiff;

use super::*;

const CART: &str = "\"\"\"Carts.\"\"\"\n\n\ndef total(prices):\n    \"\"\"All of it.\"\"\"\n    return sum(prices) / len(prices)\n\n\ndef count(prices):\n    return len(prices)\n";
const GUARDED: &str = "\"\"\"Carts.\"\"\"\n\n\ndef total(prices):\n    \"\"\"All of it.\"\"\"\n    if not prices:\n        return 0\n    return sum(prices) / len(prices)\n\n\ndef count(prices):\n    return len(prices)\n";
const HUNK: &str = "@@ -4,3 +4,5 @@\n def total(prices):\n     \"\"\"All of it.\"\"\"\n+    if not prices:\n+        return 0\n     return sum(prices) / len(prices)\n";
const BLOCK: &str = "<<<<<<< SEARCH\n    return sum(prices) / len(prices)\n=======\n    if not prices:\n        return 0\n    return sum(prices) / len(prices)\n>>>>>>> REPLACE\n";

fn files(texts: &[(&str, &str)]) -> BTreeMap<String, String> {
    texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn applied(answer: &str, known: &BTreeMap<String, String>) -> Result<AppliedEdits, EditError> {
    apply(&read(answer)?, known)
}

/// Asserts that the answer turns `before` into `expect` with the notes `audit`.
fn check(answer: &str, before: &str, expect: &str, audit: &[&str]) {
    let found = applied(answer, &files(&[("cart.py", before), ("shop/money.py", "cent = 1\n")]));
    let found = found.unwrap_or_else(|error| panic!("{error}\n{answer}"));
    assert_eq!(found.files, files(&[("cart.py", expect)]), "{answer}");
    assert_eq!(found.audit, audit, "{answer}");
}

fn refused(answer: &str, before: &str, message: &str) {
    let found = applied(answer, &files(&[("cart.py", before)]));
    let error = found.expect_err(answer).to_string();
    assert!(error.contains(message), "{error}\n{answer}");
}

fn diff(hunk: &str) -> String {
    format!("--- a/cart.py\n+++ b/cart.py\n{hunk}")
}

#[test]
fn diffs_are_read_in_any_wrapping() {
    let plain = diff(HUNK);
    let cases = [
        plain.clone(),
        plain.trim_end().to_owned(),
        format!("```diff\n{plain}```\n"),
        format!("~~~~\n{plain}~~~~\n"),
        format!("Here it is:\n\n{plain}\n- It guards.\n- It is short.\n"),
        format!("diff --git a/cart.py b/cart.py\nindex 123..456 100644\n{plain}"),
        format!("diff --git a/cart.py b/cart.py\n{HUNK}"),
        plain.replace("a/", "").replace("b/", ""),
        plain.replace("a/cart.py", "a/cart.py\t2024-01-01 00:00:00"),
        plain.replace('\n', "\r\n"),
        format!("\u{feff}{plain}"),
        format!("<think>\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n</think>\n\n{plain}"),
        format!("{plain}\nis wrong, so rather:\n</think>\n{plain}"),
        format!(
            "1. The fix:\n   ```diff\n{}   ```\n",
            plain.lines().map(|line| format!("   {line}\n")).collect::<String>()
        ),
        format!("{plain}\\ No newline at end of file\n"),
        format!("From 1 Mon Sep 17\nSubject: guard\n---\n cart.py | 2 ++\n\n{plain}-- \n2.40.1\n"),
    ];
    for answer in cases {
        check(&answer, CART, GUARDED, &[]);
    }
}

#[test]
fn blocks_are_read_in_any_wrapping() {
    let cases = [
        format!("cart.py\n{BLOCK}"),
        format!("cart.py\n```python\n{BLOCK}```\n"),
        format!("```python\ncart.py\n{BLOCK}```\n"),
        format!("```python path=cart.py\n{BLOCK}```\n"),
        format!("```cart.py\n{BLOCK}```\n"),
        format!("### `cart.py`:\n\n{BLOCK}"),
        format!("In `cart.py`, guard:\n\n```\n{BLOCK}```\nDone.\n"),
        BLOCK.replace("SEARCH", "SEARCH cart.py"),
        format!("cart.py\n{}", BLOCK.replace("<<<<<<<", "<<<<<").replace(">>>>>>>", ">>>>>>>>>")),
        format!("cart.py\r\n{}", BLOCK.replace('\n', "\r\n")),
        format!("cart.py\n{}", BLOCK.trim_end()),
    ];
    for answer in cases {
        check(&answer, CART, GUARDED, &[]);
    }
}

#[test]
fn several_edits_of_several_files() {
    let known = files(&[("a.py", "one\ntwo\nthree\n"), ("b.py", "four\n")]);
    let expect = files(&[("a.py", "ONE\ntwo\nTHREE\n"), ("b.py", "FOUR\n")]);
    let diffs = "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n@@ -2,2 +2,2 @@\n two\n-three\n+THREE\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-four\n+FOUR\n```\n";
    let block = |old: &str, new: &str| format!("<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n");
    let blocks = format!(
        "a.py\n```\n{}{}```\nand b.py\n\nb.py\n{}",
        block("one", "ONE"),
        block("three", "THREE"),
        block("four", "FOUR")
    );
    for answer in [diffs, &blocks] {
        let found = applied(answer, &known).unwrap();
        assert_eq!((found.files, found.audit.len()), (expect.clone(), 0), "{answer}");
    }
}

#[test]
fn every_tolerance_is_noted() {
    let spaced = CART.replace("All of it.\"\"\"\n", "All of it.\"\"\"   \n");
    let kept = GUARDED.replace("All of it.\"\"\"\n", "All of it.\"\"\"   \n");
    check(
        &diff(HUNK),
        &spaced,
        &kept,
        &["white space at the ends of lines of hunk 1 of cart.py is not as in the file"],
    );
    check(
        &diff(&HUNK.replace("-4,3 +4,5", "-1,3 +1,5")),
        CART,
        GUARDED,
        &["hunk 1 of cart.py was found 3 lines later"],
    );
    check(
        &diff(&HUNK.replace("-4,3 +4,5", "-5,3 +5,5")),
        CART,
        GUARDED,
        &["hunk 1 of cart.py was found 1 line earlier"],
    );
    let far = HUNK.replace("-4,3", &format!("-{},3", usize::MAX));
    let earlier = format!("hunk 1 of cart.py was found {} lines earlier", isize::MAX - 3);
    check(&diff(&far), CART, GUARDED, &[&earlier]);
    check(
        &diff(&HUNK.replace(" -4,3 +4,5 @@", "")),
        CART,
        GUARDED,
        &["hunk 1 of cart.py has no line numbers"],
    );
    check(
        &format!("```diff\n{}```\n", diff(&HUNK.replace("-4,3 +4,5", "-4,9 +4,2"))),
        CART,
        GUARDED,
        &["hunk 1 of cart.py has 3 old and 5 new lines, not 9 and 2"],
    );
    let outdented = BLOCK.replace("\n    ", "\n");
    check(
        &format!("cart.py\n{outdented}"),
        CART,
        GUARDED,
        &["indentation of block 1 of cart.py was 4 columns less"],
    );
    let indented = BLOCK.replace("\n    ", "\n      ");
    check(
        &format!("cart.py\n{indented}"),
        CART,
        GUARDED,
        &["indentation of block 1 of cart.py was 2 columns more"],
    );
    check(
        &diff(&HUNK.replace(" def total(prices)", " def total(items)")),
        CART,
        GUARDED,
        &["hunk 1 of cart.py was found without its first line of context"],
    );
    check(
        &diff(&HUNK.replace(" def total(prices)", " def total(items)").replace("/ len(prices)", "/ 2")),
        CART,
        GUARDED,
        &["hunk 1 of cart.py was found without its first line of context and its last line of context"],
    );
}

#[test]
fn a_partial_file_name_is_completed_and_noted() {
    let known = files(&[("shop/cart.py", CART), ("shop/money.py", "cent = 1\n")]);
    let found = applied(&diff(HUNK), &known).unwrap();
    assert_eq!(found.files, files(&[("shop/cart.py", GUARDED)]));
    assert_eq!(found.audit, ["cart.py was taken as shop/cart.py"]);
}

#[test]
fn the_file_keeps_its_line_ends_and_its_last_line() {
    let windows = |text: &str| text.replace('\n', "\r\n");
    check(&diff(HUNK), &windows(CART), &windows(GUARDED), &[]);
    check(&format!("cart.py\n{BLOCK}"), CART.trim_end(), GUARDED.trim_end(), &[]);
    check(&diff("@@ -1,2 +1,3 @@\n a\n b\n+c\n"), "a\nb", "a\nb\nc", &[]);
    check(&diff("@@ -1,2 +1 @@\n a\n-b\n"), "a\nb", "a", &[]);
    check(&diff("@@ -0,0 +1 @@\n+a\n"), "", "a\n", &[]);
}

#[test]
fn a_whole_file_is_accepted_only_if_it_is_complete() {
    let fence = |text: &str| format!("```python path=cart.py\n{text}```\n");
    check(&fence(GUARDED), CART, GUARDED, &[]);
    check(&fence(GUARDED), &CART.replace('\n', "\r\n"), &GUARDED.replace('\n', "\r\n"), &[]);
    refused(&fence(GUARDED).replace("```\n", ""), CART, "ends within the fence of cart.py");
    refused(
        &fence(&GUARDED.replace("def count(prices):", "# ... rest of the file")),
        CART,
        "leaves something out",
    );
    refused(&fence("x = 1\n"), "\"\"\"\n```\nx\n```\n\"\"\"\n", "has fences of its own");
    refused(&format!("{}{}", fence(GUARDED), diff(HUNK)), CART, "both change");
    refused(&fence(CART), CART, "changes nothing");
    refused(&fence(""), CART, "would be deleted");
}

#[test]
fn ambiguous_edits_are_refused() {
    let twice = "x = 1\ny = 2\nx = 1\n";
    let block = "cart.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 3\n>>>>>>> REPLACE\n";
    refused(block, twice, "block 1 of cart.py is in the file more than once: lines 1, 3");
    refused(&diff("@@ -2 +2 @@\n-x = 1\n+x = 3\n"), twice, "more than once");
    check(&diff("@@ -3 +3 @@\n-x = 1\n+x = 3\n"), twice, "x = 1\ny = 2\nx = 3\n", &[]);
    refused(&diff("@@ -2,0 +3 @@\n+x = 3\n"), twice, "quotes no line of the file");
    // Without its first line the hunk matches both locations, and a line number does not decide then.
    refused(&diff("@@ -1,2 +1,2 @@\n other\n-x = 1\n+x = 3\n"), twice, "more than once");
}

#[test]
fn edits_that_quote_other_lines_are_refused() {
    refused(
        &diff("@@ -1,3 +1,2 @@\n a\n-b\n c\n"),
        "a\nB\nc\n",
        "most like line 1, but line 2 is \"B\", not \"b\"",
    );
    let block = "cart.py\n<<<<<<< SEARCH\nreturn totals\n=======\nreturn 0\n>>>>>>> REPLACE\n";
    refused(block, "x = 1\nreturn total\n", "line 2 is \"return total\", not \"return totals\"");
    refused(block, "x = 1\n", "nothing is like \"return totals\"");
    // Only hunks have context lines: a search block must match completely.
    let more = "cart.py\n<<<<<<< SEARCH\na\nb\n=======\nb\n>>>>>>> REPLACE\n";
    refused(more, "z\na\n", "the file ends before \"b\"");
    refused(&diff("@@ -1,2 +1 @@\n-a\n-b\n+c\n"), "z\na\n", "the file ends before \"b\"");
}

#[test]
fn overlapping_edits_are_refused() {
    let text = "a\nb\nc\n";
    let one = "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n";
    refused(
        &diff(&format!("{one}{one}")),
        text,
        "hunk 2 of cart.py and hunk 1 of cart.py both change line 2",
    );
    let inserts = "@@ -1,2 +1,3 @@\n a\n+x\n b\n";
    refused(&diff(&format!("{inserts}{inserts}")), text, "both change line 2");
    let next = "@@ -2,2 +2,2 @@\n b\n-c\n+y\n";
    check(&diff(&format!("{one}{next}")), text, "a\nx\ny\n", &[]);
}

#[test]
fn lines_that_look_like_headers_are_read_as_lines() {
    check(&diff("@@ -1,3 +1,3 @@\n a\n--- old\n+++ new\n b\n"), "a\n-- old\nb\n", "a\n++ new\nb\n", &[]);
    let markdown = "cart.py\n<<<<<<< SEARCH\n```\n=======\n```python\n>>>>>>> REPLACE\n";
    check(markdown, "a\n```\nb\n", "a\n```python\nb\n", &[]);
    let heading = "cart.py\n<<<<<<< SEARCH\nCarts\n=====\n=======\nGoods\n=====\n>>>>>>> REPLACE\n";
    check(heading, "Carts\n=====\n\n", "Goods\n=====\n\n", &[]);
}

#[test]
fn empty_lines_may_have_lost_their_space() {
    let text = "a\n\nb\nc\n";
    check(
        "```diff\n--- cart.py\n+++ cart.py\n@@ -1,4 +1,4 @@\n a\n\n b\n-c\n+d\n```\n",
        text,
        "a\n\nb\nd\n",
        &[],
    );
    check(
        "```diff\n--- cart.py\n+++ cart.py\n@@\n a\n\n b\n-c\n+d\n\n```\n",
        text,
        "a\n\nb\nd\n",
        &["hunk 1 of cart.py has no line numbers"],
    );
}

#[test]
fn large_garbage_is_refused_quickly() {
    let fill = |unit: &str| unit.repeat(2_097_000 / unit.len());
    let same = "x\n".repeat(200_000);
    let known = files(&[("cart.py", &same)]);
    let hunks = format!("@@ -1,5000 +1,5000 @@\n{}-y\n+z\n", " x\n".repeat(4_999)).repeat(100);
    let answers = [
        fill("`"),
        fill("<<<<<<< "),
        fill("--- a\n"),
        fill("--- a\n+++ a\n"),
        fill("=======\n"),
        fill("```python path=a.py\n"),
        fill("\n"),
        fill("<think>"),
        fill("</think>\n"),
        format!("cart.py\n<<<<<<< SEARCH\n{}", fill("=======\n")),
        format!("cart.py\n<<<<<<< SEARCH\n{}y\n=======\n>>>>>>> REPLACE\n", "x\n".repeat(150_000)),
        format!("cart.py\n<<<<<<< SEARCH\n{}=======\n>>>>>>> REPLACE\n", " x\n".repeat(150_000)),
        diff(&hunks),
        diff(&format!("@@\n{}", fill("+x\n"))),
        diff(&format!("@@\n-y\n{}", fill("\n"))),
        diff(&format!("@@ -1,9999999 +1,9999999 @@\n{}", fill("\n"))),
        diff(&format!("@@ -1 +1 @@\n-{}\n+y\n", "x".repeat(2_000_000))),
    ];
    for answer in answers {
        let start = Instant::now();
        let found = applied(&answer, &known);
        let error = found.expect_err("garbage is refused");
        assert!(!matches!(error, EditError::TooLong { .. }), "it is read: {:?}", answer.get(..60));
        // Two million lines in quadratic time are hours; without optimisation it was at most five seconds.
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}: {:?}", answer.get(..60), start.elapsed());
    }
}

#[test]
fn more_than_200_edits_are_refused() {
    let blocks = |count: usize| -> String {
        (0..count)
            .map(|at| format!("cart.py\n<<<<<<< SEARCH\nv{at} = 0\n=======\nv{at} = 1\n>>>>>>> REPLACE\n"))
            .collect()
    };
    let text: String = (0..201).map(|at| format!("v{at} = 0\n")).collect();
    refused(&blocks(201), &text, "more than 200 edits");
    assert_eq!(read(&blocks(200)).unwrap().len(), 200);
}

proptest! {
    #[test]
    fn a_diff_applies_exactly(
        before in prop::collection::vec("[ab]{0,1}( [xy])?", 0..40),
        after in prop::collection::vec("[ab]{0,1}( [xy])?", 1..40),
        radius in 1_usize..5,
    ) {
        let (before, after) = (before.join("\n") + "\n", after.join("\n") + "\n");
        prop_assume!(before != after && !after.trim().is_empty() && !before.trim().is_empty());
        let text = TextDiff::from_lines(&before, &after).unified_diff().context_radius(radius)
            .header("a/cart.py", "b/cart.py").to_string();
        let found = applied(&text, &files(&[("cart.py", &before)]));
        let fenced = applied(&format!("```diff\n{text}```\n"), &files(&[("cart.py", &before)]));
        prop_assert_eq!(&found, &fenced);
        let found = found.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&found.files["cart.py"], &after, "{}", text);
        prop_assert!(found.audit.is_empty(), "{:?}", found.audit);
    }

    #[test]
    fn a_diff_applies_at_an_offset_and_notes_it(
        count in 5_usize..60,
        changed in prop::collection::btree_map(0_usize..60, 0_u8..3, 1..6),
        above in 1_usize..30,
    ) {
        let old: Vec<String> = (0..count).map(|at| format!("line {at}")).collect();
        let mut new = Vec::new();
        for (at, line) in old.iter().enumerate() {
            match changed.get(&at) {
                None => new.push(line.clone()),
                Some(0) => new.push(format!("{line} is changed")),
                Some(1) => new.extend([line.clone(), format!("after {at}")]),
                Some(_) => {}
            }
        }
        prop_assume!(old != new);
        let (before, after) = (old.join("\n") + "\n", new.join("\n") + "\n");
        let text = TextDiff::from_lines(&before, &after).unified_diff().context_radius(3)
            .header("a/cart.py", "b/cart.py").to_string();
        let more = "above\n".repeat(above);
        let found = applied(&text, &files(&[("cart.py", &(more.clone() + &before))]));
        let found = found.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&found.files["cart.py"], &(more + &after));
        let unit = if above == 1 { "line" } else { "lines" };
        let said = format!("hunk 1 of cart.py was found {above} {unit} later");
        prop_assert_eq!(found.audit.first(), Some(&said));
    }

    #[test]
    fn no_answer_panics(parts in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..30)) {
        let known = files(&[("cart.py", CART)]);
        if let Ok(found) = applied(&parts.concat(), &known) {
            prop_assert!(found.files.keys().all(|name| name == "cart.py"));
        }
    }
}

const PIECES: [&str; 26] = [
    "--- a/cart.py\n",
    "+++ b/cart.py\n",
    "@@ -4,3 +4,5 @@\n",
    "@@\n",
    "@@ -0,0 +0,0 @@\n",
    "@@ -18446744073709551615,4294967295 +1,0 @@\n",
    " def total(prices):\n",
    "-def total(prices):\n",
    "+def total(prices):\n",
    "def total(prices):\n",
    "    return len(prices)\n",
    "-    return len(prices)\n",
    "+    return 0\n",
    "+é\u{3000}\n",
    "\u{3000}\n",
    "\n",
    "```diff\n",
    "```\n",
    "   ```python path=cart.py\n",
    "cart.py\n",
    "<<<<<<< SEARCH\n",
    "=======\n",
    ">>>>>>> REPLACE\n",
    "diff --git a/cart.py b/cart.py\n",
    "<think>",
    "</think>\n",
];
