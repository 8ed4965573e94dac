//! What became of proposals, so that nothing is proposed twice and a loop that was killed decides the same again.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::ids::RunId;
use menace_store::{PatchRecord, PatchState, Store};

use crate::budget::Cost;
use crate::proposal::Proposal;
use crate::tracks::Tracks;
use crate::verify::Verdict;
use crate::workbench::EngineError;

/// What is known of proposals.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Rows of this run, by number: it goes on where it ended.
    of_run: BTreeMap<u64, PatchRecord>,
    /// Proposals that were rejected before, in this run or another.
    pub(crate) rejected: BTreeSet<String>,
    /// The number of the next.
    pub(crate) next: u64,
    /// How many were compared since one was kept.
    pub(crate) compared: u64,
    /// What patches are compared with.
    pub(crate) figures: Vec<BTreeMap<String, f64>>,
    /// What became of what each proposer said.
    pub(crate) tracks: Tracks,
}

impl Ledger {
    /// What the store knows of a repository. Rows of cycles before this one are done with.
    pub async fn read(store: &Store, repository: &str, run: &RunId, next: u64) -> Result<Self, EngineError> {
        let mut ledger = Self { next, ..Self::default() };
        for record in store.patches_of(repository).await? {
            if record.run == *run {
                if record.number < next {
                    ledger.note(&record);
                }
                ledger.of_run.insert(record.number, record);
            } else {
                ledger.figures.extend(figures(&record));
                ledger.tracks.note(&record);
                if record.state == PatchState::Rejected {
                    ledger.rejected.insert(record.proposal);
                }
            }
        }
        Ok(ledger)
    }

    /// How many proposals there were.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn note(&mut self, record: &PatchRecord) {
        let was_compared = record.verdict["was_compared"] == true;
        self.compared = match record.state {
            PatchState::Kept | PatchState::Reverted => 0,
            PatchState::Rejected => self.compared + u64::from(was_compared),
        };
        if record.state == PatchState::Rejected {
            self.rejected.insert(record.proposal.clone());
        }
        self.figures.extend(figures(record));
        self.tracks.note(record);
    }

    /// What came of the next proposal, if this run has looked at it before.
    pub(crate) fn known(&self, proposal: &Proposal) -> Option<(Verdict, Cost)> {
        let record = self.of_run.get(&self.next).filter(|record| record.proposal == proposal.id)?;
        // What cannot be read is looked at again.
        let verdict = serde_json::from_value(record.verdict.clone()).ok()?;
        Some((verdict, serde_json::from_value(record.cost.clone()).ok()?))
    }
}

/// What a patch of the ledger is compared by.
fn figures(record: &PatchRecord) -> Option<BTreeMap<String, f64>> {
    serde_json::from_value(record.verdict["figures"].clone()).ok()
}
