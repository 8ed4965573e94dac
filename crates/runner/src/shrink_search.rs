//! Shrinking: the smallest input that still fails in the same way.

use menace_model::calls::OutcomeKind;
use menace_sandbox::SandboxError;

use crate::call::Call;
use crate::outcome::{CallClassification, CallOutcome};
use crate::run::RunOptions;
use crate::scheduler::{BatchPurpose, CallScheduler};
use crate::smaller_inputs::smaller_stubs;

/// Call limit for shrinking failures that use all of their time or memory; not shrunk at all unless the run is
/// thorough.
const MOST_SLOW_CALLS: usize = 12;
/// Number of slow candidates that are made concurrently, each in its own slot.
const CONCURRENT_SLOW: usize = 4;

/// The properties that two failures must share to be the same: kind, exception, and innermost line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureSignature {
    kind: OutcomeKind,
    exception: Option<String>,
    place: Option<(String, u32)>,
}

impl FailureSignature {
    pub(crate) fn of(verdict: &CallClassification) -> Self {
        Self {
            kind: verdict.kind,
            exception: verdict.facts.as_ref().map(|facts| facts.exception.clone()),
            place: verdict.frame().map(|(path, line)| (path.to_owned(), line)),
        }
    }

    fn is_of(&self, outcome: &CallOutcome) -> bool {
        Self::of(&outcome.verdict) == *self
    }
}

/// Result of rerunning and shrinking a failing call.
pub(crate) enum ShrinkOutcome {
    /// The rerun had another outcome.
    Differs(Box<CallClassification>),
    /// The smallest failing call that was found, and its outcome.
    Smallest(Box<(Call, CallOutcome)>),
}

/// Compares the rerun of a failing call with the failure and shrinks its input with at most `calls` calls.
pub(crate) async fn shrink_failure(
    scheduler: &CallScheduler,
    call: &Call,
    first: CallOutcome,
    failure: &FailureSignature,
    calls: usize,
) -> Result<ShrinkOutcome, SandboxError> {
    if !failure.is_of(&first) {
        return Ok(ShrinkOutcome::Differs(Box::new(first.verdict)));
    }
    let is_slow = matches!(first.verdict.kind, OutcomeKind::Timeout | OutcomeKind::Oom);
    let most = match is_slow {
        // The call waits for the network, independently of its input.
        true if call.circumstances.disturbs_network() => 0,
        true if calls < RunOptions::THOROUGH => 0,
        true => MOST_SLOW_CALLS,
        false => calls,
    };
    let mut best = call.clone();
    let mut spent = 0;
    'smaller: while spent < most {
        let candidates: Vec<Call> = smaller_stubs(&best.stub)
            .into_iter()
            .take(most - spent)
            .map(|stub| Call { stub, ..best.clone() })
            .collect();
        let most_together =
            if is_slow { CONCURRENT_SLOW } else { BatchPurpose::Shrinking.largest_batch(false) };
        // The first failing candidate of a batch is taken, so that the result does not depend on timing.
        for batch in candidates.chunks(most_together) {
            spent += batch.len();
            let outcomes = if is_slow {
                scheduler.make_each_alone(batch).await?
            } else {
                scheduler.make_batch(batch).await?
            };
            if let Some(index) = outcomes.iter().position(|outcome| failure.is_of(outcome)) {
                best = batch[index].clone();
                continue 'smaller;
            }
        }
        break;
    }
    if best.stub == call.stub {
        // The input could not be shrunk, and the call was already made alone.
        return Ok(ShrinkOutcome::Smallest(Box::new((best, first))));
    }
    // A call that fails in a batch has to fail alone, as it does in a replay.
    let of_best = scheduler.make_call(&best).await?;
    if failure.is_of(&of_best) {
        return Ok(ShrinkOutcome::Smallest(Box::new((best, of_best))));
    }
    Ok(ShrinkOutcome::Smallest(Box::new((call.clone(), first))))
}
