//! The smallest input that still fails in the same way.

use std::sync::Arc;

use menace_model::calls::OutcomeKind;
use menace_sandbox::SandboxError;
use menace_sandbox::native::CallSpec;

use crate::execute::Execute;
use crate::judge::{Verdict, judge};
use crate::plan::PlannedCall;
use crate::run::RunOptions;
use crate::shrink::smaller_stubs;
use crate::target::Target;

/// Calls that may be spent on one failure.
const MOST_CALLS: usize = 120;
/// Calls that are tried at once: the first of them that fails is taken, so that the result does not depend on time.
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
        let facts = verdict.facts.as_ref();
        Self {
            kind: verdict.kind,
            exception: facts.map(|facts| facts.exception.clone()),
            place: facts.and_then(|facts| facts.frames.last()).map(|(path, line, _)| (path.clone(), *line)),
        }
    }
}

/// Makes the input of a failing call as small as it gets within its calls; the second value is what came of the smallest,
/// if it is another one.
pub(crate) async fn minimise(
    executor: &Arc<dyn Execute>,
    target: &Target,
    call: &PlannedCall,
    failure: &Likeness,
    options: &RunOptions,
) -> Result<(PlannedCall, Option<Verdict>), SandboxError> {
    let (mut best, mut of_best) = (call.clone(), None);
    let mut spent = 0;
    'smaller: while spent < MOST_CALLS {
        let candidates: Vec<PlannedCall> = smaller_stubs(&best.stub)
            .into_iter()
            .take(MOST_CALLS - spent)
            .map(|stub| PlannedCall { stub, ..best.clone() })
            .collect();
        for together in candidates.chunks(AT_ONCE) {
            spent += together.len();
            let mut outcomes = tokio::task::JoinSet::new();
            for (index, candidate) in together.iter().enumerate() {
                let request = candidate.request(target, options.threads, options.tasks);
                let spec = CallSpec::new(request).timeout(options.timeout);
                let executor = Arc::clone(executor);
                outcomes.spawn(async move { (index, executor.execute(&spec).await) });
            }
            let mut alike: Vec<Option<Verdict>> = vec![None; together.len()];
            while let Some(finished) = outcomes.join_next().await {
                let (index, raw) =
                    finished.map_err(|error| SandboxError::Protocol(format!("a call was lost: {error}")))?;
                let verdict = judge(&raw?, &together[index].stub, &target.section.raises);
                alike[index] = (Likeness::of(&verdict) == *failure).then_some(verdict);
            }
            if let Some((index, verdict)) =
                alike.into_iter().enumerate().find_map(|(index, verdict)| Some((index, verdict?)))
            {
                best = together[index].clone();
                of_best = Some(verdict);
                continue 'smaller;
            }
        }
        break;
    }
    Ok((best, of_best))
}
