//! Track records of the proposers, which decide the order in which they are asked.

use std::collections::BTreeMap;

use menace_store::{PatchRecord, PatchState};

/// Track records by name of the proposer.
#[derive(Debug, Default)]
pub(crate) struct TrackRecords(BTreeMap<&'static str, TrackRecord>);

#[derive(Debug, Default, Clone, Copy)]
struct TrackRecord {
    tried: f64,
    kept: f64,
    gain: f64,
    cpu_seconds: f64,
    money: f64,
    /// Whether the cost of any proposal is unknown.
    is_unknown: bool,
}

/// Assumed gain before any was measured.
const USUAL_GAIN: f64 = 0.5;
/// Minimum cost of verifying a proposal, in seconds of CPU time; keeps the divisor above zero.
const LEAST_SECONDS: f64 = 0.1;

impl TrackRecords {
    pub(crate) fn add_record(&mut self, record: &PatchRecord) {
        let name = if record.proposer.starts_with("llm:") { "llm" } else { "transforms" };
        let track = self.0.entry(name).or_default();
        let cost = record.cost;
        track.tried += 1.0;
        track.cpu_seconds += cost.cpu_seconds;
        match cost.money {
            Some(money) => track.money += money,
            None => track.is_unknown = true,
        }
        if record.state == PatchState::Kept {
            track.kept += 1.0;
            track.gain += record.verdict.verdict.gain.unwrap_or(0.0);
        }
    }

    /// Expected gain per cost of the next proposal. A proposer without a track record is assumed to have half of its
    /// proposals kept and to cost only their verification. A proposer with an unknown price is asked last.
    pub(crate) fn expected_gain_per_cost(&self, name: &str, price_per_cpu_second: f64) -> f64 {
        let track = self.0.get(name).copied().unwrap_or_default();
        if track.is_unknown {
            return 0.0;
        }
        let share = (track.kept + 1.0) / (track.tried + 2.0);
        let gain = (track.gain + USUAL_GAIN) / (track.kept + 1.0);
        let seconds = (track.cpu_seconds + LEAST_SECONDS) / (track.tried + 1.0);
        let cost = seconds.max(LEAST_SECONDS) * price_per_cpu_second.max(f64::MIN_POSITIVE)
            + track.money / track.tried.max(1.0);
        share * gain / cost
    }
}

#[cfg(test)]
mod tests {
    use menace_model::patches::{PatchDetail, StepCost, Verdict};

    use super::*;

    fn record(proposer: &str, state: PatchState, cost: &StepCost) -> PatchRecord {
        PatchRecord {
            run: "r_01kbz7q3m9x4vt".parse().unwrap(),
            number: 0,
            proposal: String::new(),
            repository: String::new(),
            section: String::new(),
            proposer: proposer.into(),
            state,
            at_ms: 0,
            detail: PatchDetail::default(),
            verdict: Verdict { gain: Some(0.5), ..Verdict::default() }.into(),
            cost: *cost,
            commit: None,
        }
    }

    #[test]
    fn the_proposer_with_more_kept_proposals_per_cost_is_asked_first() {
        let mut tracks = TrackRecords::default();
        assert!(
            (tracks.expected_gain_per_cost("llm", 1.0) - tracks.expected_gain_per_cost("transforms", 1.0))
                .abs()
                < 1e-12
        );
        let free = StepCost { cpu_seconds: 1.0, money: Some(0.0), ..StepCost::default() };
        let dear = StepCost { cpu_seconds: 1.0, money: Some(2.0), ..StepCost::default() };
        for _ in 0..5 {
            tracks.add_record(&record("transform:a", PatchState::Kept, &free));
            tracks.add_record(&record("llm:b", PatchState::Kept, &dear));
        }
        assert!(tracks.expected_gain_per_cost("transforms", 0.1) > tracks.expected_gain_per_cost("llm", 0.1));
        for _ in 0..200 {
            tracks.add_record(&record("transform:a", PatchState::Rejected, &free));
        }
        assert!(
            tracks.expected_gain_per_cost("transforms", 10.0) < tracks.expected_gain_per_cost("llm", 10.0)
        );
        tracks.add_record(&record("llm:b", PatchState::Kept, &StepCost { money: None, ..free }));
        assert!(
            tracks.expected_gain_per_cost("transforms", 10.0) > tracks.expected_gain_per_cost("llm", 10.0)
        );
    }
}
