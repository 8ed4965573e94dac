//! The eight conditions of a verdict, each with its measurement.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::alignment::Alignment;

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    #[serde(default)]
    pub cpu_seconds: f64,
    /// Test that fails without the change and passes with it, if one could be generated.
    #[serde(default)]
    pub regression: Option<RegressionTest>,
    /// Measurements compared with earlier patches: `error_reduction`, `findings_removed`, `complexity`.
    #[serde(default)]
    pub figures: BTreeMap<String, f64>,
    /// Composite score relative to earlier patches; `None` if there were too few.
    #[serde(default)]
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
    pub(super) fn with_alignment(self, alignment: Alignment) -> Self {
        Self { alignment, ..self }
    }

    /// Name and measurement of the first condition that was not met.
    pub fn reason(&self) -> Option<String> {
        let failed = self.conditions.iter().find(|condition| condition.state == ConditionState::Fails)?;
        Some(format!("{}: {}", failed.name, failed.figure))
    }
}

/// Neutral names: a measurement follows, which says whether and how the condition was met.
const NAMES: [&str; 8] = [
    "patch validity",
    "existing tests",
    "regressions",
    "improvement",
    "scenarios",
    "speed",
    "alignment",
    "behaviour",
];

/// Conditions checked so far.
#[derive(Debug)]
pub struct ConditionChecks {
    all: [(ConditionState, String); 8],
    gain: Option<menace_tracker::PairedComparison>,
    pub(super) scenarios: BTreeMap<String, (f64, f64, usize)>,
    /// CPU time of all calls.
    pub(super) cpu_seconds: f64,
    /// Measurements compared with earlier patches.
    pub(super) figures: BTreeMap<String, f64>,
}

impl Default for ConditionChecks {
    fn default() -> Self {
        let all = std::array::from_fn(|_| (ConditionState::NotReached, String::new()));
        Self { all, gain: None, scenarios: BTreeMap::new(), cpu_seconds: 0.0, figures: BTreeMap::new() }
    }
}

impl ConditionChecks {
    pub(super) fn set(&mut self, number: usize, holds: bool, figure: String) {
        self.all[number - 1] = (if holds { ConditionState::Holds } else { ConditionState::Fails }, figure);
    }

    pub(super) fn holds(&mut self, number: usize, figure: String) {
        self.set(number, true, figure);
    }

    pub(super) fn fails(&mut self, number: usize, figure: String) {
        self.set(number, false, figure);
    }

    pub(super) fn compared(
        &mut self,
        is_better: bool,
        figure: String,
        verdict: menace_tracker::PairedComparison,
    ) {
        self.set(4, is_better, figure);
        self.figures.insert("error_reduction".into(), verdict.gain);
        self.gain = Some(verdict);
    }

    pub(super) fn all_hold_so_far(&self) -> bool {
        self.all.iter().all(|(state, _)| *state != ConditionState::Fails)
    }

    pub(super) fn verdict(self) -> Verdict {
        // A condition that was not checked is not met.
        let kept = self.all.iter().all(|(state, _)| *state == ConditionState::Holds);
        let conditions = self
            .all
            .into_iter()
            .zip(NAMES)
            .zip(1..)
            .map(|(((state, figure), name), number)| Condition { number, name: name.into(), state, figure })
            .collect();
        Verdict {
            kept,
            conditions,
            gain: self.gain.map(|verdict| verdict.gain),
            interval: self.gain.map(|verdict| verdict.interval),
            was_compared: self.gain.is_some(),
            scenarios: self.scenarios,
            alignment: Alignment::default(),
            cpu_seconds: self.cpu_seconds,
            regression: None,
            figures: self.figures,
            score: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchecked_condition_rejects_the_proposal() {
        let mut conditions = ConditionChecks::default();
        for number in 1..8 {
            conditions.holds(number, String::new());
        }
        assert!(conditions.all_hold_so_far());
        let verdict = conditions.verdict();
        assert!(!verdict.kept);
        assert_eq!(verdict.conditions[7].state, ConditionState::NotReached);
        assert_eq!(verdict.reason(), None);
    }

    #[test]
    fn the_first_unmet_condition_is_the_reason() {
        let mut conditions = ConditionChecks::default();
        for number in 1..=8 {
            conditions.holds(number, String::new());
        }
        conditions.fails(3, "cart:total is worse".into());
        let verdict = conditions.verdict();
        assert!(!verdict.kept);
        assert_eq!(verdict.reason().unwrap(), "regressions: cart:total is worse");
    }
}
