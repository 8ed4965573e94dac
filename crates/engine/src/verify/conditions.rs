//! The eight conditions of a verdict, each with its measurement.

use std::collections::BTreeMap;

use menace_model::patches::{Alignment, Condition, ConditionState, Verdict};

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
