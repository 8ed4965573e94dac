//! Malformed answers: each is refused, or applied exactly as intended.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::ErrorDetails;
use serde::Deserialize;

use super::*;

const CART: &str = include_str!("../../../../../../tests/fixtures/malformed_answers/cart.py");
const GUARDED: &str = include_str!("../../../../../../tests/fixtures/malformed_answers/cart_guarded.py");
const ANSWERS: &str = include_str!("../../../../../../tests/fixtures/malformed_answers.json");

#[derive(Debug, Deserialize)]
struct MalformedAnswerCase {
    name: String,
    answer: Option<String>,
    repeat: Option<(String, usize)>,
    expect: MalformedAnswerHandling,
    /// Expected part of the error or the notes.
    says: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MalformedAnswerHandling {
    Refused,
    Same,
}

impl MalformedAnswerCase {
    fn text(&self) -> String {
        let repeated = self.repeat.as_ref().map(|(text, count)| text.repeat(*count));
        self.answer.clone().or(repeated).unwrap_or_default()
    }
}

fn files() -> BTreeMap<String, String> {
    let other = |name: &str| (name.to_owned(), "RATE = 19\n".to_owned());
    BTreeMap::from([("cart.py".to_owned(), CART.to_owned()), other("shop/tax.py"), other("old/tax.py")])
}

fn applied(answer: &str) -> Result<AppliedEdits, EditError> {
    apply(&read(answer)?, &files())
}

/// Outcome of an answer: refused or applied as intended; any other change is an `Err`.
fn outcome(answer: &str) -> Result<(MalformedAnswerHandling, String), AppliedEdits> {
    match applied(answer) {
        Err(error) => Ok((MalformedAnswerHandling::Refused, error.to_string())),
        Ok(found) if found.files == BTreeMap::from([("cart.py".to_owned(), GUARDED.to_owned())]) => {
            Ok((MalformedAnswerHandling::Same, found.audit.join("\n")))
        }
        Ok(found) => Err(found),
    }
}

#[test]
fn malformed_answers_are_refused_or_applied_as_intended() {
    let rows: Vec<MalformedAnswerCase> = serde_json::from_str(ANSWERS).unwrap();
    let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let texts: BTreeSet<String> = rows.iter().map(MalformedAnswerCase::text).collect();
    assert!(texts.len() >= 200, "{} kinds", texts.len());
    assert_eq!((names.len(), texts.len()), (rows.len(), rows.len()), "rows are distinct");
    let mut wrong = Vec::new();
    for row in &rows {
        match outcome(&row.text()) {
            Ok((found, said)) if found == row.expect => {
                if row.says.as_ref().is_some_and(|part| !said.contains(part)) {
                    wrong.push(format!("{}: says {said:?}, not {:?}", row.name, row.says));
                }
            }
            other => wrong.push(format!("{}: {other:?}, not {:?}", row.name, row.expect)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_error_is_one_line_and_so_is_its_hint() {
    let rows: Vec<MalformedAnswerCase> = serde_json::from_str(ANSWERS).unwrap();
    for error in rows.iter().filter_map(|row| applied(&row.text()).err()) {
        let text = error.to_string();
        assert!(text.lines().count() == 1 && !text.contains("hint:"), "{text}");
        assert!(error.hint().is_none_or(|hint| hint.lines().count() == 1), "{text}");
        assert!(text.len() < 1_000, "{text}");
        assert!(!text.ends_with('.'), "{text}");
    }
}

/// A truncated answer never becomes half a change, wherever it is cut.
#[test]
fn a_truncated_answer_is_refused_or_applied_as_intended() {
    let hunk = "--- a/cart.py\n+++ b/cart.py\n@@ -4,3 +4,5 @@\n def total(prices):\n     \"\"\"All of it.\"\"\"\n+    if not prices:\n+        return 0\n     return sum(prices) / len(prices)\n";
    let block = "cart.py\n<<<<<<< SEARCH\n    return sum(prices) / len(prices)\n=======\n    if not prices:\n        return 0\n    return sum(prices) / len(prices)\n>>>>>>> REPLACE\n";
    let answers = [
        hunk.to_owned(),
        format!("The fix:\n\n```diff\ndiff --git a/cart.py b/cart.py\n{hunk}```\nThat is all.\n"),
        block.to_owned(),
        format!("The fix:\n\n```python\n{block}```\n"),
        format!("<think>\nA guard.\n</think>\n{block}"),
        format!("```python path=cart.py\n{GUARDED}```\n"),
    ];
    for answer in answers {
        let cuts = (0..=answer.len()).filter(|at| answer.is_char_boundary(*at));
        let found: Vec<MalformedAnswerHandling> = cuts.map(|at| outcome(&answer[..at]).unwrap().0).collect();
        assert_eq!(found.last(), Some(&MalformedAnswerHandling::Same), "{answer}");
        let first = found.iter().position(|found| *found == MalformedAnswerHandling::Same).unwrap();
        assert!(found[first..].iter().all(|found| *found == MalformedAnswerHandling::Same), "{answer}");
        // Only text after the change may be missing.
        assert!(answer[..first].contains("return 0\n"), "{}", &answer[..first]);
    }
}
