//! Calls outside of a run: executed as in a run, with the outcomes in the order of the calls.

use std::collections::VecDeque;
use std::sync::Arc;

use menace_sandbox::SandboxError;
use tokio::task::JoinSet;

use crate::call::Call;
use crate::executor::CallExecutor;
use crate::outcome::CallOutcome;
use crate::shrink_search::{make_call, make_call_batch};
use crate::stress::FaultEvidence;

/// Maximum number of calls that share an import.
const LARGEST_BATCH: usize = 16;

/// Makes calls, a bounded number of them concurrently. Calls that starve the machine are made after all others, so
/// that they do not affect them.
pub async fn make_calls(
    executor: &Arc<dyn CallExecutor>,
    calls: &[Call],
    parallel: usize,
) -> Result<Vec<CallOutcome>, SandboxError> {
    let starves = |call: &Call| call.circumstances.proofs.contains(&FaultEvidence::Starved);
    let numbered: Vec<(usize, &Call)> = calls.iter().enumerate().collect();
    let (starving, others): (Vec<_>, Vec<_>) = numbered.into_iter().partition(|(_, call)| starves(call));
    let mut outcomes: Vec<Option<CallOutcome>> = vec![None; calls.len()];
    for group in [others, starving] {
        let mut batches = batches(&group, parallel);
        let mut under_way = JoinSet::new();
        loop {
            let places =
                |batch: &Vec<(usize, Call)>| batch[0].1.circumstances.calls_per_slot(batch[0].1.needs_world);
            let room = batches.front().map_or(0, |batch| parallel * places(batch));
            while under_way.len() < room.max(1) {
                let Some(batch) = batches.pop_front() else { break };
                let executor = Arc::clone(executor);
                under_way.spawn(async move {
                    let (numbers, calls): (Vec<usize>, Vec<Call>) = batch.into_iter().unzip();
                    let made = match &calls[..] {
                        [alone] => make_call(&executor, alone).await.map(|outcome| vec![outcome]),
                        together => make_call_batch(&executor, together).await,
                    };
                    (numbers, made)
                });
            }
            let Some(finished) = under_way.join_next().await else { break };
            let (numbers, made) =
                finished.map_err(|error| SandboxError::Protocol(format!("a batch task failed: {error}")))?;
            for (number, outcome) in numbers.into_iter().zip(made?) {
                outcomes[number] = Some(outcome);
            }
        }
    }
    let lost = || SandboxError::Protocol("a call has no outcome".into());
    outcomes.into_iter().map(|outcome| outcome.ok_or_else(lost)).collect()
}

/// Batches of neighbouring calls of one module under the same profile, small enough that every concurrent slot has
/// some of them.
fn batches(calls: &[(usize, &Call)], parallel: usize) -> VecDeque<Vec<(usize, Call)>> {
    let mut all: VecDeque<Vec<(usize, Call)>> = VecDeque::new();
    for (number, call) in calls {
        let is_alone = |call: &Call| call.needs_world || call.examples || call.across;
        let fits = all.back().is_some_and(|batch| {
            let (_, first) = &batch[0];
            let places = parallel * first.circumstances.calls_per_slot(first.needs_world);
            batch.len() < LARGEST_BATCH.min(calls.len().div_ceil(places.max(1)))
                && first.module == call.module
                && first.circumstances == call.circumstances
                && !is_alone(first)
                && !is_alone(call)
        });
        match all.back_mut().filter(|_| fits) {
            Some(batch) => batch.push((*number, (*call).clone())),
            None => all.push_back(vec![(*number, (*call).clone())]),
        }
    }
    all
}
