//! Source of a given list of calls.

use std::collections::VecDeque;

use menace_sandbox::SandboxError;

use super::batch::{BatchPurpose, CallBatch};
use super::call_scheduler::{CallSource, FinishedBatch};
use super::slots::CallNeeds;
use crate::call::Call;
use crate::outcome::CallOutcome;
use crate::stress::FaultEvidence;

/// Calls in batches, and the outcomes of those that were made.
pub(super) struct CallList {
    batches: VecDeque<CallBatch>,
    outcomes: Vec<Option<CallOutcome>>,
}

impl CallList {
    pub(super) fn new(calls: &[Call], parallel: usize) -> Self {
        let starves = |call: &Call| call.circumstances.proofs.contains(&FaultEvidence::Starved);
        let numbered: Vec<(usize, &Call)> = calls.iter().enumerate().collect();
        let (starving, others): (Vec<_>, Vec<_>) = numbered.into_iter().partition(|(_, call)| starves(call));
        let batches = batches(&others, parallel).into_iter().chain(batches(&starving, parallel)).collect();
        Self { batches, outcomes: vec![None; calls.len()] }
    }

    /// Outcomes in the order of the calls.
    pub(super) fn outcomes(self) -> Result<Vec<CallOutcome>, SandboxError> {
        let lost = || SandboxError::Protocol("a call has no outcome".into());
        self.outcomes.into_iter().map(|outcome| outcome.ok_or_else(lost)).collect()
    }
}

impl CallSource for CallList {
    type Error = SandboxError;

    fn next_needs(&mut self) -> Option<CallNeeds> {
        let (_, first) = self.batches.front()?.first()?;
        // Durations are compared, so a call occupies its slot also while it waits.
        Some(CallNeeds { waits_for_network: false, ..CallNeeds::of(&first.circumstances, first.needs_world) })
    }

    async fn next_batch(&mut self) -> Result<Option<CallBatch>, SandboxError> {
        Ok(self.batches.pop_front())
    }

    async fn batch_ended(&mut self, ended: FinishedBatch) -> Result<(), SandboxError> {
        for ((number, _), outcome) in ended.batch.into_iter().zip(ended.outcomes) {
            self.outcomes[number] = Some(outcome);
        }
        Ok(())
    }
}

/// Batches of neighbouring calls, small enough that every slot has some of them.
fn batches(calls: &[(usize, &Call)], parallel: usize) -> Vec<CallBatch> {
    let mut all: Vec<CallBatch> = Vec::new();
    for (number, call) in calls {
        let fits = |batch: &&mut CallBatch| {
            let (_, first) = &batch[0];
            let needs = CallNeeds::of(&first.circumstances, first.needs_world);
            let share = calls.len().div_ceil((parallel * needs.per_slot).max(1));
            batch.len() < BatchPurpose::Comparison.largest_batch(needs.starves).min(share)
                && first.can_share_import_with(call)
        };
        match all.last_mut().filter(fits) {
            Some(batch) => batch.push((*number, (*call).clone())),
            None => all.push(vec![(*number, (*call).clone())]),
        }
    }
    all
}
