//! Remarks of the alignment rules about a change.

use serde::{Deserialize, Serialize};

/// Severity of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlagSeverity {
    /// The change deserves a look.
    Warning,
    /// The change is rejected.
    Failure,
}

/// One remark about a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlignmentFlag {
    /// Identifier of the rule, such as `removed_logging`.
    pub rule: String,
    /// Severity of the remark.
    pub severity: FlagSeverity,
    /// Description for the reader of the verdict.
    pub message: String,
}

/// All remarks about a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Alignment {
    /// In the order of the files.
    pub flags: Vec<AlignmentFlag>,
}

impl Alignment {
    /// The first remark that rejects the change.
    pub fn failing(&self) -> Option<&AlignmentFlag> {
        self.flags.iter().find(|flag| flag.severity == FlagSeverity::Failure)
    }

    /// Probability from 0 to 1 that a reviewer objects, with every remark as an independent reason.
    pub fn score(&self) -> f64 {
        let accepted: f64 = self.flags.iter().map(|flag| 1.0 - flag.severity.weight()).product();
        1.0 - accepted
    }

    /// Adds a warning.
    pub fn warn(&mut self, rule: &str, message: String) {
        self.flags.push(AlignmentFlag::warning(rule, message));
    }

    /// Adds a remark that rejects the change.
    pub fn fail(&mut self, rule: &str, message: String) {
        self.flags.push(AlignmentFlag { rule: rule.into(), severity: FlagSeverity::Failure, message });
    }
}

impl AlignmentFlag {
    /// A remark that deserves a look.
    pub fn warning(rule: &str, message: String) -> Self {
        Self { rule: rule.into(), severity: FlagSeverity::Warning, message }
    }
}

impl FlagSeverity {
    /// Weight in the score: one failure exceeds the default failure threshold, two warnings exceed the default warning
    /// threshold.
    fn weight(self) -> f64 {
        match self {
            Self::Warning => 0.3,
            Self::Failure => 0.95,
        }
    }
}
