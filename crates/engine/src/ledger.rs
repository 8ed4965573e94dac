//! Record of all proposals and their verdicts, so that no proposal is verified twice and a resumed run makes the same
//! decisions.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::ids::RunId;
use menace_store::{PatchRecord, PatchState, Store};

use crate::budget::StepCost;
use crate::proposal::Proposal;
use crate::track_records::TrackRecords;
use crate::verify::Verdict;
use crate::workbench::EngineError;

/// Proposals of a repository with their verdicts.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Patches of this run, by number; a resumed run reuses their verdicts.
    of_run: BTreeMap<u64, PatchRecord>,
    /// Ids of proposals rejected in this run or an earlier one.
    pub(crate) rejected: BTreeSet<String>,
    /// Number of the next proposal.
    pub(crate) next: u64,
    /// Number of proposals compared since the last kept one.
    pub(crate) compared: u64,
    /// Measurements of earlier patches, for the composite score.
    pub(crate) figures: Vec<BTreeMap<String, f64>>,
    /// Track records of the proposers.
    pub(crate) tracks: TrackRecords,
}

impl Ledger {
    /// Reads the patches of a repository from the store. Patches of this run with a number below `next` belong to
    /// finished cycles.
    pub async fn read(store: &Store, repository: &str, run: &RunId, next: u64) -> Result<Self, EngineError> {
        let mut ledger = Self { next, ..Self::default() };
        for record in store.patches_of(repository).await? {
            if record.run == *run {
                if record.number < next {
                    ledger.add_record(&record);
                }
                ledger.of_run.insert(record.number, record);
            } else {
                ledger.figures.push(record.verdict.verdict.figures.clone());
                ledger.tracks.add_record(&record);
                if record.state == PatchState::Rejected {
                    ledger.rejected.insert(record.proposal);
                }
            }
        }
        Ok(ledger)
    }

    /// Number of proposals so far.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn add_record(&mut self, record: &PatchRecord) {
        let was_compared = record.verdict.verdict.was_compared;
        self.compared = match record.state {
            PatchState::Kept | PatchState::Reverted => 0,
            PatchState::Rejected => self.compared + u64::from(was_compared),
        };
        if record.state == PatchState::Rejected {
            self.rejected.insert(record.proposal.clone());
        }
        self.figures.push(record.verdict.verdict.figures.clone());
        self.tracks.add_record(record);
    }

    /// Recorded verdict and cost of the next proposal, if this run verified it before it was resumed.
    pub(crate) fn known_verdict(&self, proposal: &Proposal) -> Option<(Verdict, StepCost)> {
        let record = self.of_run.get(&self.next).filter(|record| record.proposal == proposal.id)?;
        Some((record.verdict.verdict.clone(), record.cost))
    }
}
