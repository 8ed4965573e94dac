//! Runs and calls as the store keeps them: the parts that readers of a data directory use.
//!
//! Every field has a default, and rows that are shown as they are keep the fields that are not named here, so that the
//! records of any version can be read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::calls::{Recipe, ReportedException};
use crate::ids::RunId;

/// Kind of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Cycles of `menace auto`, each of which is a run of its own.
    Auto,
    /// One cycle.
    #[default]
    #[serde(other)]
    Run,
}

/// Options of a run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StoredRunOptions {
    /// Kind of the run.
    pub kind: RunKind,
    /// Path of the repository.
    pub repository: Option<String>,
    /// Prefix of the content hash of each file, by path.
    pub files: BTreeMap<String, String>,
    /// Maximum number of cycles.
    pub cycles: Option<u64>,
    /// Limits of the run.
    pub limits: StoredRunLimits,
    /// Cycles that were started; `None` if the run has none.
    pub begun: Option<Vec<StoredCycle>>,
}

/// Limits of a run; `None` means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StoredRunLimits {
    /// Wall time.
    pub seconds: Option<f64>,
    /// Money.
    pub cost: Option<f64>,
    /// Tokens of models.
    pub tokens: Option<u64>,
}

/// A cycle of a run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StoredCycle {
    /// Run of its calls.
    pub run: Option<RunId>,
    /// Commit that it calls.
    pub base: Option<String>,
    /// Number of its first proposal.
    pub first: Option<u64>,
    /// Start, in milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// Origin of its presets.
    pub presets: Option<String>,
    /// Measurements, once it has ended.
    pub seen: Option<StoredCycleSummary>,
}

/// Measurements of a cycle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredCycleSummary {
    /// Calls that were made.
    pub calls: Option<u64>,
    /// Distinct failures.
    pub failures: Option<u64>,
    /// ROI of the repository.
    pub roi: Option<f64>,
    /// Forecast of the next ROI, with its interval.
    pub forecast: Option<(f64, Option<(f64, f64)>)>,
    /// Duration.
    pub seconds: Option<f64>,
}

impl StoredRunOptions {
    /// Cycles that were started.
    pub fn cycles_begun(&self) -> &[StoredCycle] {
        self.begun.as_deref().unwrap_or_default()
    }

    /// The cycle whose calls belong to a run.
    pub fn cycle_of(&self, run: &RunId) -> Option<&StoredCycle> {
        self.cycles_begun().iter().find(|cycle| cycle.run.as_ref() == Some(run))
    }
}

/// Report of the calls of a run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StoredReport {
    /// Sections that can be called.
    pub sections: Option<u64>,
    /// Sections that were called.
    pub reached: Option<u64>,
    /// Calls that were made.
    pub calls: Option<u64>,
    /// Duration of the calls.
    pub seconds: Option<f64>,
    /// One cell for each section and preset; `None` if the report is not about calls.
    pub cells: Option<Vec<StoredCell>>,
    /// Distinct failures, the worst first.
    pub failures: Vec<StoredFailure>,
    /// Failures that did not repeat.
    pub flaky: Vec<StoredFailure>,
    /// Sections that could not be called.
    pub harness_errors: Vec<StoredHarnessError>,
    /// Value of the run; `None` if it was not tracked.
    pub roi: Option<StoredWorth>,
}

/// Calls of one section under one preset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredCell {
    /// `module:qualname`.
    pub section: String,
    /// Name of the preset.
    pub scenario: String,
    /// Severity of a canonical profile.
    pub severity: Option<String>,
    /// Calls that count.
    pub n: u64,
    /// Calls that returned.
    #[serde(skip_serializing_if = "is_zero")]
    pub ok: u64,
    /// Calls whose input was rejected on purpose.
    #[serde(skip_serializing_if = "is_zero")]
    pub rejected: u64,
    /// Reason why no call counts.
    pub void_reason: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A distinct failure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredFailure {
    /// `module:qualname`.
    pub section: String,
    /// Path of the file.
    pub path: String,
    /// Line of the innermost frame in the repository, or of the section.
    pub line: u64,
    /// Preset of the example.
    pub scenario: String,
    /// Kind of failure.
    pub kind: String,
    /// Class of the exception.
    pub exception: Option<String>,
    /// Arguments of the example.
    #[serde(skip_serializing)]
    pub input: StoredStub,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A section that could not be called.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredHarnessError {
    /// `module:qualname`.
    pub section: String,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Value of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredWorth {
    /// ROI of the repository.
    pub roi: Option<f64>,
    /// Metrics that could not be measured, with the reasons.
    pub unavailable: Option<BTreeMap<String, String>>,
    /// Source of the energy measurement.
    pub energy_source: Option<String>,
    /// All modules are complete.
    pub converged: Option<bool>,
}

/// A call: what is needed to show it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StoredCall {
    /// Path of the file.
    pub path: Option<String>,
    /// First line of the section.
    pub line: Option<u64>,
    /// Seed of the call.
    pub seed: u64,
    /// Arguments.
    pub stub: StoredStub,
    /// Stress profile, shown as it is.
    pub circumstances: Value,
}

/// Arguments of a call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StoredStub {
    /// Object on which a method is called.
    pub owner: Option<Recipe>,
    /// Positional arguments.
    pub args: Vec<Recipe>,
    /// Keyword arguments.
    pub kwargs: Vec<(String, Recipe)>,
}

/// Outcome of a call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StoredOutcome {
    /// Exception of the call.
    pub facts: Option<ReportedException>,
    /// Reason for the classification, if there is no exception.
    pub reason: Option<String>,
}

impl StoredOutcome {
    /// Message of the exception, or the reason.
    pub fn message(&self) -> Option<&str> {
        self.facts.as_ref().map(|facts| facts.message.as_str()).or(self.reason.as_deref())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "signature required by serde")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_without_known_fields_are_read_with_defaults() {
        let read = |value: Value| StoredRunOptions::deserialize(&value).unwrap();
        assert_eq!(read(json!({})), StoredRunOptions::default());
        assert_eq!(read(json!({"kind": "auto", "begun": [{}]})).kind, RunKind::Auto);
        assert_eq!(read(json!({"kind": "of a later version"})).kind, RunKind::Run);
        assert_eq!(StoredReport::deserialize(&json!({"version": 1})).unwrap(), StoredReport::default());
        assert_eq!(StoredOutcome::deserialize(&json!({"kind": "ok"})).unwrap().message(), None);
    }

    #[test]
    fn a_row_keeps_the_fields_that_are_not_named() {
        let row = json!({
            "section": "a:f", "scenario": "normal", "severity": null, "n": 2, "ok": 2, "void_reason": null,
            "interval": [0.3, 1.0], "crash": 0,
        });
        let cell = StoredCell::deserialize(&row).unwrap();
        assert_eq!((cell.n, cell.ok, cell.rejected), (2, 2, 0));
        assert_eq!(serde_json::to_value(cell).unwrap(), row);
    }
}
