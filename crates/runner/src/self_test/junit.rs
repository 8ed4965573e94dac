//! Reader of pytest's reports in the `JUnit` format.

use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// Passed.
    Passed,
    /// An assertion did not hold, or an exception was raised.
    Failed,
    /// The test could not be run, such as after a failed fixture.
    Error,
    /// Skipped on purpose.
    Skipped,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestCase {
    /// As pytest names it, without the file.
    pub name: String,
    /// Module and class of the test, which distinguish equal names in several files.
    #[serde(default)]
    pub place: String,
    /// How the test ended.
    pub kind: TestOutcome,
    /// First line of the failure message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Duration in seconds.
    pub seconds: f64,
}

/// Number of tests by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Passed tests.
    pub passed: usize,
    /// Failed tests.
    pub failed: usize,
    /// Tests that could not be run.
    pub errors: usize,
    /// Skipped tests.
    pub skipped: usize,
}

impl TestCounts {
    /// Counts tests.
    pub fn of(cases: &[TestCase]) -> Self {
        let count = |kind: TestOutcome| cases.iter().filter(|case| case.kind == kind).count();
        Self {
            passed: count(TestOutcome::Passed),
            failed: count(TestOutcome::Failed),
            errors: count(TestOutcome::Error),
            skipped: count(TestOutcome::Skipped),
        }
    }
}

/// A report that cannot be read.
#[derive(Debug, Error)]
#[error("failed to parse the JUnit report: {0}")]
pub struct JunitError(#[source] roxmltree::Error);

impl ErrorDetails for JunitError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Environment
    }
}

/// Reads the tests of a report.
pub fn read_junit(text: &str) -> Result<Vec<TestCase>, JunitError> {
    let document = roxmltree::Document::parse(text).map_err(JunitError)?;
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    Ok(cases.map(case).collect())
}

fn case(node: roxmltree::Node<'_, '_>) -> TestCase {
    let kinds =
        [("failure", TestOutcome::Failed), ("error", TestOutcome::Error), ("skipped", TestOutcome::Skipped)];
    let ended = kinds.iter().find_map(|(tag, kind)| {
        let child = node.children().find(|child| child.has_tag_name(*tag))?;
        Some((*kind, child.attribute("message").unwrap_or_default()))
    });
    let (kind, message) = ended.unwrap_or((TestOutcome::Passed, ""));
    let class = node.attribute("classname").and_then(|class| class.rsplit('.').next()).unwrap_or_default();
    let name = node.attribute("name").unwrap_or_default();
    // For a test function, the class name is the name of its file.
    let is_class = class.starts_with("Test") || class.ends_with("Test") || class.ends_with("Tests");
    TestCase {
        name: if is_class { format!("{class}::{name}") } else { name.to_owned() },
        place: node.attribute("classname").unwrap_or_default().to_owned(),
        kind,
        message: message.lines().next().unwrap_or_default().to_owned(),
        seconds: node.attribute("time").and_then(|time| time.parse().ok()).unwrap_or(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_kind_is_parsed() {
        let text = r#"<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="4">
            <testcase classname="tests.test_cart" name="test_add" time="0.5"/>
            <testcase classname="tests.test_cart.TestCart" name="test_fails[&lt;1&gt;]" time="0.1">
              <failure message="assert 1 == 2&#10;  +  where">text</failure></testcase>
            <testcase classname="tests.test_cart" name="test_broken" time="0"><error message="no fixture"/></testcase>
            <testcase classname="tests.test_cart" name="test_later" time="0"><skipped message="later"/></testcase>
            </testsuite></testsuites>"#;
        let cases = read_junit(text).unwrap();
        assert_eq!(TestCounts::of(&cases), TestCounts { passed: 1, failed: 1, errors: 1, skipped: 1 });
        assert_eq!(
            (cases[1].name.as_str(), cases[1].message.as_str()),
            ("TestCart::test_fails[<1>]", "assert 1 == 2")
        );
        assert!((cases[0].seconds - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_truncated_report_is_an_error() {
        read_junit("<testsuites><testsuite>").unwrap_err();
        read_junit("").unwrap_err();
    }
}
