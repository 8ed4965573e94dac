//! Shrinking: the smallest input that still fails in the same way.

use std::sync::Arc;

use menace_model::calls::{OutcomeKind, RawOutcome};
use menace_sandbox::SandboxError;

use crate::call::Call;
use crate::classify::classify;
use crate::executor::CallExecutor;
use crate::outcome::{CallClassification, CallMeasurements, CallOutcome};
use crate::run::RunOptions;
use crate::smaller_inputs::smaller_stubs;

/// Call limit for shrinking failures that use all of their time or memory; not shrunk at all unless the run is
/// thorough.
const MOST_SLOW_CALLS: usize = 12;
/// Size of a batch of candidates. The first failing one of a batch is taken, so that the result does not depend on
/// timing.
const BATCH_SIZE: usize = 8;
/// Number of concurrent slow candidates, each in its own slot.
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
    executor: &Arc<dyn CallExecutor>,
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
        for batch in candidates.chunks(if is_slow { CONCURRENT_SLOW } else { BATCH_SIZE }) {
            spent += batch.len();
            let outcomes = if is_slow {
                execute_concurrently(executor, batch).await?
            } else {
                make_call_batch(executor, batch).await?
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
    let of_best = make_call(executor, &best).await?;
    if failure.is_of(&of_best) {
        return Ok(ShrinkOutcome::Smallest(Box::new((best, of_best))));
    }
    Ok(ShrinkOutcome::Smallest(Box::new((call.clone(), first))))
}

async fn execute_concurrently(
    executor: &Arc<dyn CallExecutor>,
    calls: &[Call],
) -> Result<Vec<CallOutcome>, SandboxError> {
    let mut under_way = tokio::task::JoinSet::new();
    for (index, call) in calls.iter().cloned().enumerate() {
        let executor = Arc::clone(executor);
        under_way.spawn(async move { (index, make_call(&executor, &call).await) });
    }
    let mut outcomes: Vec<Option<CallOutcome>> = vec![None; calls.len()];
    while let Some(finished) = under_way.join_next().await {
        let (index, outcome) =
            finished.map_err(|error| SandboxError::Protocol(format!("a call task failed: {error}")))?;
        outcomes[index] = Some(outcome?);
    }
    Ok(outcomes.into_iter().flatten().collect())
}

/// Makes calls of one module under the same limits and classifies their outcomes.
pub(crate) async fn make_call_batch(
    executor: &Arc<dyn CallExecutor>,
    calls: &[Call],
) -> Result<Vec<CallOutcome>, SandboxError> {
    let Some(first) = calls.first() else { return Ok(Vec::new()) };
    let specs: Vec<_> = calls.iter().map(Call::spec).collect();
    let raw = executor.execute_batch(&first.module, &specs).await?;
    let judged = |(raw, call): (&RawOutcome, &Call)| CallOutcome {
        verdict: classify(raw, call),
        measures: Some(CallMeasurements::of(raw)),
    };
    Ok(raw.iter().zip(calls).map(judged).collect())
}

/// Makes a call alone in its own sandbox and classifies its outcome.
pub async fn make_call(executor: &Arc<dyn CallExecutor>, call: &Call) -> Result<CallOutcome, SandboxError> {
    let raw = executor.execute(&call.spec()).await?;
    Ok(CallOutcome { verdict: classify(&raw, call), measures: Some(CallMeasurements::of(&raw)) })
}
