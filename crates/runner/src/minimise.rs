//! The smallest input that still fails in the same way.

use std::sync::Arc;

use menace_model::calls::OutcomeKind;
use menace_sandbox::SandboxError;
use menace_sandbox::native::RawOutcome;

use crate::call::Call;
use crate::execute::Execute;
use crate::judge::judge;
use crate::outcome::{CallOutcome, Measures, Verdict};
use crate::run::RunOptions;
use crate::shrink::smaller_stubs;

/// Of calls that take all of their time or memory each time, fewer, and none if it is not to be thorough.
const MOST_SLOW_CALLS: usize = 12;
/// Calls that are tried together: the first of them that fails is taken, so that the result does not depend on time.
const TOGETHER: usize = 8;
/// The same for those that are slow, each in a place of its own.
const AT_ONCE: usize = 4;

/// What a failure has to have in common with another to be the same: kind, exception, and the innermost line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Likeness {
    kind: OutcomeKind,
    exception: Option<String>,
    place: Option<(String, u32)>,
}

impl Likeness {
    pub(crate) fn of(verdict: &Verdict) -> Self {
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

/// A failing call again, and as small as it gets.
pub(crate) enum Again {
    /// Something else came of the same call.
    Differs(Box<Verdict>),
    /// The smallest that was found, and what came of it.
    Smallest(Box<(Call, CallOutcome)>),
}

/// Compares what came of a failing call when it was made once more, and makes its input as small as it gets within so many calls.
pub(crate) async fn minimise(
    executor: &Arc<dyn Execute>,
    call: &Call,
    first: CallOutcome,
    failure: &Likeness,
    calls: usize,
) -> Result<Again, SandboxError> {
    if !failure.is_of(&first) {
        return Ok(Again::Differs(Box::new(first.verdict)));
    }
    let is_slow = matches!(first.verdict.kind, OutcomeKind::Timeout | OutcomeKind::Oom);
    let most = match is_slow {
        // It waits for others, whatever it was given.
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
        for together in candidates.chunks(if is_slow { AT_ONCE } else { TOGETHER }) {
            spent += together.len();
            let outcomes = if is_slow {
                outcomes_at_once(executor, together).await?
            } else {
                outcomes_of_batch(executor, together).await?
            };
            if let Some(index) = outcomes.iter().position(|outcome| failure.is_of(outcome)) {
                best = together[index].clone();
                continue 'smaller;
            }
        }
        break;
    }
    if best.stub == call.stub {
        // It was made alone already.
        return Ok(Again::Smallest(Box::new((best, first))));
    }
    // What fails among others has to fail alone, as it will when somebody replays it.
    let of_best = outcome_of(executor, &best).await?;
    if failure.is_of(&of_best) {
        return Ok(Again::Smallest(Box::new((best, of_best))));
    }
    Ok(Again::Smallest(Box::new((call.clone(), first))))
}

async fn outcomes_at_once(
    executor: &Arc<dyn Execute>,
    together: &[Call],
) -> Result<Vec<CallOutcome>, SandboxError> {
    let mut under_way = tokio::task::JoinSet::new();
    for (index, call) in together.iter().cloned().enumerate() {
        let executor = Arc::clone(executor);
        under_way.spawn(async move { (index, outcome_of(&executor, &call).await) });
    }
    let mut outcomes: Vec<Option<CallOutcome>> = vec![None; together.len()];
    while let Some(finished) = under_way.join_next().await {
        let (index, outcome) =
            finished.map_err(|error| SandboxError::Protocol(format!("a call was lost: {error}")))?;
        outcomes[index] = Some(outcome?);
    }
    Ok(outcomes.into_iter().flatten().collect())
}

/// Makes calls of one module under the same limits, and judges what came of them.
pub(crate) async fn outcomes_of_batch(
    executor: &Arc<dyn Execute>,
    calls: &[Call],
) -> Result<Vec<CallOutcome>, SandboxError> {
    let Some(first) = calls.first() else { return Ok(Vec::new()) };
    let specs: Vec<_> = calls.iter().map(Call::spec).collect();
    let raw = executor.execute_batch(&first.module, &specs).await?;
    let judged = |(raw, call): (&RawOutcome, &Call)| CallOutcome {
        verdict: judge(raw, call),
        measures: Some(Measures::of(raw)),
    };
    Ok(raw.iter().zip(calls).map(judged).collect())
}

/// Makes a call alone in a sandbox of its own and judges what came of it.
pub async fn outcome_of(executor: &Arc<dyn Execute>, call: &Call) -> Result<CallOutcome, SandboxError> {
    let raw = executor.execute(&call.spec()).await?;
    Ok(CallOutcome { verdict: judge(&raw, call), measures: Some(Measures::of(&raw)) })
}
