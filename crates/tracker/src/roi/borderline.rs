//! Borderline candidates, which wait for a pilot run that decides about them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Requirements for a candidate that is not borderline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BorderlineRules {
    /// Minimum RAROI.
    pub raroi: f64,
    /// Minimum confidence.
    pub confidence: f64,
}

/// Number of values kept per candidate.
const LAST: usize = 20;

/// Candidates by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BorderlineCandidates(pub BTreeMap<String, PilotCandidate>);

/// A borderline candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PilotCandidate {
    /// Its RAROI values, the latest last.
    pub raroi: Vec<f64>,
    /// Confidence of the latest value.
    pub confidence: f64,
    /// Its status.
    pub status: PilotStatus,
}

/// Status of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PilotStatus {
    /// It waits for a pilot run.
    Candidate,
    /// A pilot run met the requirements.
    Promoted,
    /// A pilot run did not reach the minimum RAROI.
    Terminated,
}

impl BorderlineCandidates {
    /// Adds a candidate that does not meet the requirements, and returns whether it was added.
    pub fn add_if_borderline(
        &mut self,
        name: &str,
        raroi: f64,
        confidence: f64,
        rules: &BorderlineRules,
    ) -> bool {
        let is_good = raroi >= rules.raroi && confidence >= rules.confidence;
        if is_good {
            return false;
        }
        self.record_value(name, raroi, confidence, PilotStatus::Candidate);
        true
    }

    /// Decides about a candidate after a pilot run. A good value with too little confidence keeps it waiting.
    pub fn decide(
        &mut self,
        name: &str,
        raroi: f64,
        confidence: f64,
        rules: &BorderlineRules,
    ) -> PilotStatus {
        let placed = if raroi < rules.raroi {
            PilotStatus::Terminated
        } else if confidence >= rules.confidence {
            PilotStatus::Promoted
        } else {
            PilotStatus::Candidate
        };
        self.record_value(name, raroi, confidence, placed);
        placed
    }

    /// Candidates that wait for a pilot run.
    pub fn waiting(&self) -> impl Iterator<Item = (&str, &PilotCandidate)> {
        self.0
            .iter()
            .filter(|(_, pilot)| pilot.status == PilotStatus::Candidate)
            .map(|(name, pilot)| (name.as_str(), pilot))
    }

    fn record_value(&mut self, name: &str, raroi: f64, confidence: f64, status: PilotStatus) {
        let pilot =
            self.0.entry(name.to_owned()).or_insert(PilotCandidate { raroi: Vec::new(), confidence, status });
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
    fn candidates_wait_until_a_pilot_run_decides() {
        let mut bucket = BorderlineCandidates::default();
        assert!(!bucket.add_if_borderline("good", 0.5, 0.9, &RULES));
        assert!(
            bucket.add_if_borderline("poor", 0.05, 0.9, &RULES)
                && bucket.add_if_borderline("unsure", 0.5, 0.2, &RULES)
        );
        assert_eq!(bucket.waiting().map(|(name, _)| name).collect::<Vec<_>>(), ["poor", "unsure"]);
        assert_eq!(bucket.decide("poor", 0.04, 0.9, &RULES), PilotStatus::Terminated);
        assert_eq!(bucket.decide("unsure", 0.5, 0.3, &RULES), PilotStatus::Candidate);
        assert_eq!(bucket.decide("unsure", 0.5, 0.6, &RULES), PilotStatus::Promoted);
        assert_eq!(bucket.waiting().count(), 0);
        assert_eq!(bucket.0["unsure"].raroi.len(), 3);
    }
}
