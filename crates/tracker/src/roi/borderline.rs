//! What is neither good enough nor bad enough: it waits for a small run of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is good enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BorderlineRules {
    /// The least RAROI.
    pub raroi: f64,
    /// The least confidence.
    pub confidence: f64,
}

/// Values that are kept of each candidate.
const LAST: usize = 20;

/// The candidates, by their names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Borderline(pub BTreeMap<String, Pilot>);

/// A candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pilot {
    /// What its RAROI was, the last at the end.
    pub raroi: Vec<f64>,
    /// How sure that is.
    pub confidence: f64,
    /// What became of it.
    pub status: Placed,
}

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placed {
    /// It waits.
    Candidate,
    /// A small run showed that it is good enough.
    Promoted,
    /// A small run showed that it is not.
    Terminated,
}

impl Borderline {
    /// Takes what is not good enough; what is, it leaves alone. Says whether it was taken.
    pub fn consider(&mut self, name: &str, raroi: f64, confidence: f64, rules: &BorderlineRules) -> bool {
        let is_good = raroi >= rules.raroi && confidence >= rules.confidence;
        if is_good {
            return false;
        }
        self.note(name, raroi, confidence, Placed::Candidate);
        true
    }

    /// What a small run of its own says about a candidate. What is good and still unsure goes on waiting.
    pub fn decide(&mut self, name: &str, raroi: f64, confidence: f64, rules: &BorderlineRules) -> Placed {
        let placed = if raroi < rules.raroi {
            Placed::Terminated
        } else if confidence >= rules.confidence {
            Placed::Promoted
        } else {
            Placed::Candidate
        };
        self.note(name, raroi, confidence, placed);
        placed
    }

    /// Those that wait.
    pub fn waiting(&self) -> impl Iterator<Item = (&str, &Pilot)> {
        self.0
            .iter()
            .filter(|(_, pilot)| pilot.status == Placed::Candidate)
            .map(|(name, pilot)| (name.as_str(), pilot))
    }

    fn note(&mut self, name: &str, raroi: f64, confidence: f64, status: Placed) {
        let pilot = self.0.entry(name.to_owned()).or_insert(Pilot { raroi: Vec::new(), confidence, status });
        pilot.raroi.push(raroi);
        let surplus = pilot.raroi.len().saturating_sub(LAST);
        pilot.raroi.drain(..surplus);
        (pilot.confidence, pilot.status) = (confidence, status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: BorderlineRules = BorderlineRules { raroi: 0.1, confidence: 0.5 };

    #[test]
    fn candidates_wait_until_a_run_decides() {
        let mut bucket = Borderline::default();
        assert!(!bucket.consider("good", 0.5, 0.9, &RULES));
        assert!(bucket.consider("poor", 0.05, 0.9, &RULES) && bucket.consider("unsure", 0.5, 0.2, &RULES));
        assert_eq!(bucket.waiting().map(|(name, _)| name).collect::<Vec<_>>(), ["poor", "unsure"]);
        assert_eq!(bucket.decide("poor", 0.04, 0.9, &RULES), Placed::Terminated);
        assert_eq!(bucket.decide("unsure", 0.5, 0.3, &RULES), Placed::Candidate);
        assert_eq!(bucket.decide("unsure", 0.5, 0.6, &RULES), Placed::Promoted);
        assert_eq!(bucket.waiting().count(), 0);
        assert_eq!(bucket.0["unsure"].raroi.len(), 3);
    }
}
