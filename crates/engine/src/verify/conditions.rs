//! The eight conditions, each with its figure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::alignment::Alignment;

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It does.
    Holds,
    /// It does not.
    Fails,
    /// Another failed before, so that nobody looked.
    NotReached,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Its number in the definition.
    pub number: u8,
    /// What it asks for.
    pub name: String,
    /// Whether it holds.
    pub state: State,
    /// What was measured.
    pub figure: String,
}

/// What came of a proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether it is kept.
    pub kept: bool,
    /// All eight, in order.
    pub conditions: Vec<Condition>,
    /// The mean gain on calls that were drawn after it was proposed.
    pub gain: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Whether calls were compared, so that it counts among those that make it harder for the next.
    pub was_compared: bool,
    /// Successes before and after, and calls, under each scenario.
    pub scenarios: BTreeMap<String, (f64, f64, usize)>,
    /// What a reviewer would remark.
    pub alignment: Alignment,
    /// CPU time of all calls that were made for it.
    #[serde(default)]
    pub cpu_seconds: f64,
    /// A test that failed before and passes now, if one could be made.
    #[serde(default)]
    pub regression: Option<Regression>,
    /// What is compared with earlier patches: `error_reduction`, `findings_removed`, `complexity`.
    #[serde(default)]
    pub figures: BTreeMap<String, f64>,
    /// How it compares with what was proposed before it; nothing if there was too little.
    #[serde(default)]
    pub score: Option<f64>,
}

/// A test that goes with a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regression {
    /// Where it is, from the root of the repository.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl Verdict {
    pub(super) fn with_alignment(self, alignment: Alignment) -> Self {
        Self { alignment, ..self }
    }

    /// The first condition that does not hold, in words.
    pub fn reason(&self) -> Option<String> {
        let failed = self.conditions.iter().find(|condition| condition.state == State::Fails)?;
        Some(format!("{}: {}", failed.name, failed.figure))
    }
}

const NAMES: [&str; 8] = [
    "it applies, and touches only what it may",
    "tests that passed pass",
    "no call is worse",
    "better on calls it never saw",
    "no scenario is worse",
    "no slower",
    "a reviewer would accept it",
    "the same is returned",
];

/// What is known of the conditions so far.
#[derive(Debug)]
pub struct Conditions {
    all: [(State, String); 8],
    gain: Option<menace_tracker::Verdict>,
    pub(super) scenarios: BTreeMap<String, (f64, f64, usize)>,
    /// CPU time of calls.
    pub(super) cpu_seconds: f64,
    /// What is compared with earlier patches.
    pub(super) figures: BTreeMap<String, f64>,
}

impl Default for Conditions {
    fn default() -> Self {
        let all = std::array::from_fn(|_| (State::NotReached, String::new()));
        Self { all, gain: None, scenarios: BTreeMap::new(), cpu_seconds: 0.0, figures: BTreeMap::new() }
    }
}

impl Conditions {
    pub(super) fn set(&mut self, number: usize, holds: bool, figure: String) {
        self.all[number - 1] = (if holds { State::Holds } else { State::Fails }, figure);
    }

    pub(super) fn holds(&mut self, number: usize, figure: String) {
        self.set(number, true, figure);
    }

    pub(super) fn fails(&mut self, number: usize, figure: String) {
        self.set(number, false, figure);
    }

    pub(super) fn compared(&mut self, is_better: bool, figure: String, verdict: menace_tracker::Verdict) {
        self.set(4, is_better, figure);
        self.figures.insert("error_reduction".into(), verdict.gain);
        self.gain = Some(verdict);
    }

    pub(super) fn all_hold_so_far(&self) -> bool {
        self.all.iter().all(|(state, _)| *state != State::Fails)
    }

    pub(super) fn verdict(self) -> Verdict {
        // What nobody looked at does not hold.
        let kept = self.all.iter().all(|(state, _)| *state == State::Holds);
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
    fn what_nobody_looked_at_does_not_hold() {
        let mut conditions = Conditions::default();
        for number in 1..8 {
            conditions.holds(number, String::new());
        }
        assert!(conditions.all_hold_so_far());
        let verdict = conditions.verdict();
        assert!(!verdict.kept);
        assert_eq!(verdict.conditions[7].state, State::NotReached);
        assert_eq!(verdict.reason(), None);
    }

    #[test]
    fn one_that_fails_is_the_reason() {
        let mut conditions = Conditions::default();
        for number in 1..=8 {
            conditions.holds(number, String::new());
        }
        conditions.fails(3, "cart:total is worse".into());
        let verdict = conditions.verdict();
        assert!(!verdict.kept);
        assert_eq!(verdict.reason().unwrap(), "no call is worse: cart:total is worse");
    }
}
