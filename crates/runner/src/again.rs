//! Reruns of failing calls: whether a failure repeats, and the smallest input that triggers it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use menace_model::calls::OutcomeKind;
use menace_sandbox::SandboxError;
use tokio::task::JoinSet;

use crate::call::Call;
use crate::execute::Execute;
use crate::minimise::{Again, Likeness, minimise, outcome_of};
use crate::outcome::{CallOutcome, Verdict};
use crate::plan::{Plan, Planning};
use crate::repetitions::{Repetition, Repetitions};
use crate::report::{Failure, RunReport, Shown};
use crate::run::{Ledger, Recorded, RunError, RunOptions, Surroundings};

/// Reruns every failure and shrinks its input, several concurrently. A failure that does not repeat is flaky.
pub(crate) async fn look_again(
    context: &Surroundings<'_>,
    report: &mut RunReport,
    (plan, planning): (&Plan, &Planning<'_>),
    options: &RunOptions,
    mut repetitions: Repetitions,
) -> Result<(), RunError> {
    let mut waiting: VecDeque<Suspect> = VecDeque::new();
    for (index, failure) in std::mem::take(&mut report.failures).into_iter().enumerate() {
        // Calls of the plan have the first numbers.
        let number = (plan.calls.len() + index) as u64;
        waiting
            .push_back(Suspect::new(number, failure, |number| plan.call(number, planning, options.timeout)));
    }
    // Failures whose rerun is already running come last, so that the rerun can finish meanwhile.
    waiting
        .make_contiguous()
        .sort_by_key(|suspect| suspect.first().is_some_and(|number| repetitions.has(number)));
    context.progress.shrinking(waiting.len());
    let mut under_way = JoinSet::new();
    let mut results = BTreeMap::new();
    loop {
        while under_way.len() < options.parallel && !*context.stop.borrow() {
            let Some(suspect) = waiting.pop_front() else { break };
            let executor = Arc::clone(context.executor);
            // A failure that another run has already shrunk is only rerun.
            let is_known = suspect.calls.iter().any(|(_, call)| context.ledger.carried(call).is_some());
            let calls = if is_known { 0 } else { options.shrinking / suspect.cost_factor() };
            let is_settled = suspect.has_timed_out_repeatedly(context.ledger);
            let repetition = suspect.first().and_then(|number| repetitions.take(number));
            under_way.spawn(async move {
                let (began, number, name) = (Instant::now(), suspect.number, suspect.name());
                let result = suspect.rerun(&executor, (calls, is_settled), repetition).await;
                tracing::debug!("{name}: reran in {} ms", began.elapsed().as_millis());
                (number, result)
            });
        }
        let Some(finished) = under_way.join_next().await else { break };
        let (number, result) = finished.map_err(lost)?;
        results.insert(number, result?);
        context.progress.shrunk();
    }
    for (number, result) in results {
        match result {
            Seen::Again(mut failure, call, outcome) => {
                let made = [Recorded { number, call: *call, outcome: *outcome }];
                context.ledger.record(&made).await.map_err(RunError::Ledger)?;
                let [Recorded { number, call, outcome }] = made;
                failure.show(Shown { number, call, verdict: outcome.verdict });
                report.failures.push(*failure);
            }
            Seen::Flaky(failure) => report.flaky.push(*failure),
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn lost(error: tokio::task::JoinError) -> SandboxError {
    SandboxError::Protocol(format!("a rerun task failed: {error}"))
}

/// Cost of a call with a network relative to an ordinary one. The measured ratio is 10; a lower factor leaves enough
/// calls to shrink inputs to a readable size.
const NETWORK_COST_FACTOR: usize = 4;

/// A failure to rerun: the call that shows it, and calls of other cells that failed in the same way.
struct Suspect {
    number: u64,
    calls: Vec<(Failure, Call)>,
}

enum Seen {
    /// The failure repeats; this is the smallest call that triggers it.
    Again(Box<Failure>, Box<Call>, Box<CallOutcome>),
    /// The rerun had another outcome.
    Flaky(Box<Failure>),
}

impl Suspect {
    fn new(number: u64, mut failure: Failure, call: impl Fn(usize) -> Call) -> Self {
        let others = std::mem::take(&mut failure.others);
        let count = (failure.count, failure.reach);
        let with_count = |mut one: Failure| {
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
        executor: &Arc<dyn Execute>,
        (calls, is_settled): (usize, bool),
        mut repetition: Option<Repetition>,
    ) -> Result<Seen, SandboxError> {
        if calls < RunOptions::THOROUGH && is_settled {
            let (failure, call) = self.calls.swap_remove(0);
            let outcome = CallOutcome { verdict: failure.verdict.clone(), measures: None };
            return Ok(Seen::Again(Box::new(failure), Box::new(call), Box::new(outcome)));
        }
        let mut differs = None;
        for (failure, call) in self.calls {
            let first = match repetition.take() {
                Some(repetition) => repetition.await.map_err(lost)??,
                None => outcome_of(executor, &call).await?,
            };
            match minimise(executor, &call, first, &Likeness::of(&failure.verdict), calls).await? {
                Again::Smallest(smallest) => {
                    let (call, outcome) = *smallest;
                    return Ok(Seen::Again(Box::new(failure), Box::new(call), Box::new(outcome)));
                }
                Again::Differs(verdict) => {
                    differs.get_or_insert_with(|| flaky(failure, &verdict));
                }
            }
        }
        // There is at least the call that showed the failure.
        Ok(Seen::Flaky(Box::new(differs.expect("a failure has a call"))))
    }
}

impl Suspect {
    fn name(&self) -> String {
        self.calls.first().map_or_else(String::new, |(failure, _)| {
            format!("{} {} under {}", failure.section, failure.kind.name(), failure.scenario)
        })
    }

    /// Whether several calls timed out, or one of them timed out twice, so that another rerun adds no information.
    fn has_timed_out_repeatedly(&self, ledger: &dyn Ledger) -> bool {
        self.calls.first().is_some_and(|(failure, call)| {
            failure.kind == OutcomeKind::Timeout && (failure.count > 1 || ledger.did_not_end_twice(call))
        })
    }
}

/// A failure whose rerun had another outcome.
fn flaky(mut failure: Failure, verdict: &Verdict) -> Failure {
    let now = verdict.message().map_or_else(String::new, |message| format!(": {message}"));
    failure.kind = OutcomeKind::Flaky;
    failure.message =
        format!("was {}, then {} when repeated{now}", failure.verdict.kind.name(), verdict.kind.name());
    failure
}
