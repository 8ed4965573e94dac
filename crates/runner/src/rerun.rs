//! Reruns of failing calls: whether a failure repeats, and the smallest input that triggers it.

use std::time::Instant;

use menace_model::calls::OutcomeKind;
use menace_sandbox::SandboxError;

use crate::call::Call;
use crate::early_reruns::{EarlyReruns, RerunHandle};
use crate::outcome::{CallClassification, CallOutcome};
use crate::plan::{CallPlan, PlanInputs};
use crate::report::{DistinctFailure, FailureExample, RunReport};
use crate::run::{CallJournal, RecordedCall, RunContext, RunError, RunOptions};
use crate::scheduler::{CallScheduler, run_all};
use crate::shrink_search::{FailureSignature, ShrinkOutcome, shrink_failure};

/// Reruns every failure and shrinks its input, several concurrently. A failure that does not repeat is flaky.
pub(crate) async fn rerun_failures(
    context: &RunContext<'_>,
    report: &mut RunReport,
    (plan, planning): (&CallPlan, &PlanInputs<'_>),
    options: &RunOptions,
    mut repetitions: EarlyReruns,
) -> Result<(), RunError> {
    let mut waiting = Vec::new();
    for (index, failure) in std::mem::take(&mut report.failures).into_iter().enumerate() {
        // Calls of the plan have the first numbers.
        let number = (plan.calls.len() + index) as u64;
        waiting
            .push(PendingRerun::new(number, failure, |number| plan.call(number, planning, options.timeout)));
    }
    // Failures whose rerun is already running come last, so that the rerun can finish meanwhile.
    waiting.sort_by_key(|suspect| suspect.first().is_some_and(|number| repetitions.has(number)));
    context.progress.shrinking(waiting.len());
    let scheduler = CallScheduler::new(context.executor, options.parallel);
    let jobs = waiting.into_iter().take_while(|_| !*context.stop.borrow()).map(|suspect| {
        // A failure that another run has already shrunk is only rerun.
        let is_known =
            suspect.calls.iter().any(|(_, call)| context.ledger.outcome_of_identical_call(call).is_some());
        let calls = if is_known { 0 } else { options.shrinking / suspect.cost_factor() };
        let is_settled = suspect.has_timed_out_repeatedly(context.ledger);
        let repetition = suspect.first().and_then(|number| repetitions.take(number));
        let scheduler = scheduler.clone();
        async move {
            let (began, number, name) = (Instant::now(), suspect.number, suspect.name());
            let result = suspect.rerun(&scheduler, (calls, is_settled), repetition).await;
            tracing::debug!("{name}: reran in {} ms", began.elapsed().as_millis());
            result.map(|result| (number, result))
        }
    });
    let mut results = run_all(options.parallel, jobs, || context.progress.shrunk()).await?;
    results.sort_by_key(|(number, _)| *number);
    for (number, result) in results {
        match result {
            RerunOutcome::Again(mut failure, call, outcome) => {
                let made = [RecordedCall { number, call: *call, outcome: *outcome }];
                context.ledger.record(&made).await.map_err(RunError::Ledger)?;
                let [RecordedCall { number, call, outcome }] = made;
                failure.set_example(FailureExample { number, call, verdict: outcome.verdict });
                report.failures.push(*failure);
            }
            RerunOutcome::Flaky(failure) => report.flaky.push(*failure),
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn rerun_task_error(error: tokio::task::JoinError) -> SandboxError {
    SandboxError::Protocol(format!("a rerun task failed: {error}"))
}

/// Cost of a call with a network relative to an ordinary one. The measured ratio is 10; a lower factor leaves enough
/// calls to shrink inputs to a readable size.
const NETWORK_COST_FACTOR: usize = 4;

/// A failure to rerun: the call that shows it, and calls of other cells that failed in the same way.
struct PendingRerun {
    number: u64,
    calls: Vec<(DistinctFailure, Call)>,
}

enum RerunOutcome {
    /// The failure repeats; this is the smallest call that triggers it.
    Again(Box<DistinctFailure>, Box<Call>, Box<CallOutcome>),
    /// The rerun had another outcome.
    Flaky(Box<DistinctFailure>),
}

impl PendingRerun {
    fn new(number: u64, mut failure: DistinctFailure, call: impl Fn(usize) -> Call) -> Self {
        let others = std::mem::take(&mut failure.others);
        let count = (failure.count, failure.reach);
        let with_count = |mut one: DistinctFailure| {
            (one.count, one.reach) = count;
            let call = call(one.number);
            (one, call)
        };
        Self { number, calls: std::iter::once(failure).chain(others).map(with_count).collect() }
    }

    /// Cost of one of its calls in ordinary calls: a call that uses the network has its own network with mocks.
    fn cost_factor(&self) -> usize {
        if self.calls.iter().any(|(_, call)| call.needs_world) { NETWORK_COST_FACTOR } else { 1 }
    }

    /// The number of the call that shows it.
    fn first(&self) -> Option<usize> {
        self.calls.first().map(|(failure, _)| failure.number)
    }

    /// Reruns the failure, unless that is settled, and shrinks its input with at most `calls` calls.
    async fn rerun(
        mut self,
        scheduler: &CallScheduler,
        (calls, is_settled): (usize, bool),
        mut repetition: Option<RerunHandle>,
    ) -> Result<RerunOutcome, SandboxError> {
        if calls < RunOptions::THOROUGH && is_settled {
            let (failure, call) = self.calls.swap_remove(0);
            let outcome = CallOutcome { verdict: failure.verdict.clone(), measures: None };
            return Ok(RerunOutcome::Again(Box::new(failure), Box::new(call), Box::new(outcome)));
        }
        let mut differs = None;
        for (failure, call) in self.calls {
            let first = match repetition.take() {
                Some(repetition) => repetition.await.map_err(rerun_task_error)??,
                None => scheduler.make_call(&call).await?,
            };
            match shrink_failure(scheduler, &call, first, &FailureSignature::of(&failure.verdict), calls)
                .await?
            {
                ShrinkOutcome::Smallest(smallest) => {
                    let (call, outcome) = *smallest;
                    return Ok(RerunOutcome::Again(Box::new(failure), Box::new(call), Box::new(outcome)));
                }
                ShrinkOutcome::Differs(verdict) => {
                    differs.get_or_insert_with(|| flaky(failure, &verdict));
                }
            }
        }
        // There is at least the call that showed the failure.
        Ok(RerunOutcome::Flaky(Box::new(differs.expect("a failure has a call"))))
    }
}

impl PendingRerun {
    fn name(&self) -> String {
        self.calls.first().map_or_else(String::new, |(failure, _)| {
            format!("{} {} under {}", failure.section, failure.kind.name(), failure.scenario)
        })
    }

    /// Whether several calls timed out, or one of them timed out twice, so that another rerun adds no information.
    fn has_timed_out_repeatedly(&self, ledger: &dyn CallJournal) -> bool {
        self.calls.first().is_some_and(|(failure, call)| {
            failure.kind == OutcomeKind::Timeout && (failure.count > 1 || ledger.timed_out_twice(call))
        })
    }
}

/// A failure whose rerun had another outcome.
fn flaky(mut failure: DistinctFailure, verdict: &CallClassification) -> DistinctFailure {
    let now = verdict.message().map_or_else(String::new, |message| format!(": {message}"));
    failure.kind = OutcomeKind::Flaky;
    failure.message =
        format!("was {}, then {} when repeated{now}", failure.verdict.kind.name(), verdict.kind.name());
    failure
}
