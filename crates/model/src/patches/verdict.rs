//! The verdict about a patch, and what users decided later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Alignment, PatchDecision};

/// State of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionState {
    /// Met.
    Holds,
    /// Not met.
    Fails,
    /// Not checked, because an earlier condition was not met.
    NotReached,
}

impl ConditionState {
    /// Name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::NotReached => "not_reached",
        }
    }
}

/// One of the eight conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Number of the condition.
    pub number: u8,
    /// Name of the condition.
    pub name: String,
    /// State of the condition.
    pub state: ConditionState,
    /// Measurement, or the requirement that was not met.
    pub figure: String,
}

/// Decision about a proposal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verdict {
    /// Whether the proposal is kept.
    pub kept: bool,
    /// All eight conditions, in order.
    pub conditions: Vec<Condition>,
    /// Mean gain on held-out inputs.
    pub gain: Option<f64>,
    /// Interval of the gain.
    pub interval: Option<(f64, f64)>,
    /// Whether a statistical comparison was made, which raises the required probability of the next one.
    pub was_compared: bool,
    /// Share of successes before and after, and number of calls, by scenario.
    pub scenarios: BTreeMap<String, (f64, f64, usize)>,
    /// Alignment flags.
    pub alignment: Alignment,
    /// CPU time of all calls of its verification.
    pub cpu_seconds: f64,
    /// Test that fails without the change and passes with it, if one could be generated.
    pub regression: Option<RegressionTest>,
    /// Measurements compared with earlier patches: `error_reduction`, `findings_removed`, `complexity`.
    pub figures: BTreeMap<String, f64>,
    /// Composite score relative to earlier patches; `None` if there were too few.
    pub score: Option<f64>,
}

/// Regression test of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegressionTest {
    /// Path from the root of the repository.
    pub path: String,
    /// Text of the test file.
    pub text: String,
}

impl Verdict {
    /// The same verdict with these alignment flags.
    #[must_use]
    pub fn with_alignment(self, alignment: Alignment) -> Self {
        Self { alignment, ..self }
    }

    /// The first condition that was not met.
    pub fn first_unmet(&self) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.state == ConditionState::Fails)
    }

    /// Name and measurement of the first condition that was not met.
    pub fn reason(&self) -> Option<String> {
        self.first_unmet().map(|unmet| format!("{}: {}", unmet.name, unmet.figure))
    }
}

impl From<Verdict> for PatchVerdict {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, reverted: None, decisions: Vec::new() }
    }
}

/// Verdict as the ledger records it, with what users decided later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PatchVerdict {
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Reason why the patch was reverted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverted: Option<String>,
    /// Decisions of users, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<PatchDecision>,
}
