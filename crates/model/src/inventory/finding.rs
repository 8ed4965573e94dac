//! Security findings, lint findings, and diagnostics of files that could not be fully read.

use serde::{Deserialize, Serialize};

/// Severity of a security finding, or confidence of its test; Bandit's three levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// Worth a look.
    Low,
    /// Likely a problem.
    Medium,
    /// Almost certainly a problem.
    High,
}

/// A security finding, with the id, severity and confidence that Bandit gives the same construct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityFinding {
    /// Bandit's test id, such as `B301`.
    pub id: String,
    /// Its severity.
    pub severity: FindingSeverity,
    /// Confidence of the test.
    pub confidence: FindingSeverity,
    /// The line that Bandit would report.
    pub line: u32,
    /// Description in one sentence.
    pub message: String,
}

/// The rules behind the metric `code_quality`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LintRule {
    /// An imported name that nothing in the file uses or re-exports.
    UnusedImport,
    /// A local variable that is assigned and never read.
    UnusedVariable,
    /// A name that nothing defines.
    UndefinedName,
    /// `except:` without an exception class.
    BareExcept,
    /// A list, dict or set as a parameter's default.
    MutableDefault,
    /// A definition that hides one of Python's builtins.
    ShadowedBuiltin,
    /// Statements after `return`, `raise`, `break` or `continue`.
    UnreachableCode,
    /// `== None` instead of `is None`.
    NoneComparison,
    /// `== True` or `== False`.
    BoolComparison,
    /// An f-string that has no placeholder.
    EmptyFString,
    /// The same key twice in one dict display.
    DuplicateKey,
    /// `x = x`.
    SelfAssignment,
}

/// A lint finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LintFinding {
    /// The rule.
    pub rule: LintRule,
    /// Line number.
    pub line: u32,
    /// The name concerned, where there is one, else an empty string.
    pub name: String,
}

/// A file or line that could not be read, decoded or parsed. Broken Python is data, not an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The file, relative to the root.
    pub path: String,
    /// The line, where one is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// Description of the problem.
    pub message: String,
}
