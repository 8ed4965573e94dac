//! What failed is looked at again: whether it fails each time, and with what least input.

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

/// Makes every failure once more and its input smaller, several at once. What does not fail again is flaky.
pub(crate) async fn look_again(
    surroundings: &Surroundings<'_>,
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
    // What is waited for comes last: it goes on meanwhile.
    waiting
        .make_contiguous()
        .sort_by_key(|suspect| suspect.first().is_some_and(|number| repetitions.has(number)));
    surroundings.progress.shrinking(waiting.len());
    let mut under_way = JoinSet::new();
    let mut looked_at = BTreeMap::new();
    loop {
        while under_way.len() < options.parallel && !*surroundings.stop.borrow() {
            let Some(suspect) = waiting.pop_front() else { break };
            let executor = Arc::clone(surroundings.executor);
            // One that another run has looked at already is only made once more.
            let is_known = suspect.calls.iter().any(|(_, call)| surroundings.ledger.carried(call).is_some());
            let calls = if is_known { 0 } else { options.shrinking / suspect.dearness() };
            let is_settled = suspect.is_known_not_to_end(surroundings.ledger);
            let repetition = suspect.first().and_then(|number| repetitions.take(number));
            under_way.spawn(async move {
                let (began, number, name) = (Instant::now(), suspect.number, suspect.name());
                let seen = suspect.look_at(&executor, (calls, is_settled), repetition).await;
                tracing::debug!("{name}: looked at again in {} ms", began.elapsed().as_millis());
                (number, seen)
            });
        }
        let Some(finished) = under_way.join_next().await else { break };
        let (number, seen) = finished.map_err(lost)?;
        looked_at.insert(number, seen?);
        surroundings.progress.shrunk();
    }
    for (number, seen) in looked_at {
        match seen {
            Seen::Again(mut failure, call, outcome) => {
                let made = [Recorded { number, call: *call, outcome: *outcome }];
                surroundings.ledger.record(&made).await.map_err(RunError::Ledger)?;
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
    SandboxError::Protocol(format!("a failure was lost: {error}"))
}

/// Ten times as much was measured; but what is small enough to be read is worth something.
const DEARER: usize = 4;

/// A failure that is looked at again: the call that shows it, and calls of other cells that would.
struct Suspect {
    number: u64,
    calls: Vec<(Failure, Call)>,
}

enum Seen {
    /// It fails again, and this is the smallest call that does.
    Again(Box<Failure>, Box<Call>, Box<CallOutcome>),
    /// Something else came of it.
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

    /// How many ordinary calls one of it costs: one that asks others has a network with mocks of its own.
    fn dearness(&self) -> usize {
        if self.calls.iter().any(|(_, call)| call.needs_world) { DEARER } else { 1 }
    }

    /// The number of the call that shows it.
    fn first(&self) -> Option<usize> {
        self.calls.first().map(|(failure, _)| failure.number)
    }

    /// Makes it once more, unless that is settled, and its input smaller with so many calls.
    async fn look_at(
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
        // There is at least the call that showed it.
        Ok(Seen::Flaky(Box::new(differs.expect("a failure has a call"))))
    }
}

impl Suspect {
    fn name(&self) -> String {
        self.calls.first().map_or_else(String::new, |(failure, _)| {
            format!("{} {} under {}", failure.section, failure.kind.name(), failure.scenario)
        })
    }

    /// Whether several calls did not end, or one of them twice, so that waiting for it once more says no more.
    fn is_known_not_to_end(&self, ledger: &dyn Ledger) -> bool {
        self.calls.first().is_some_and(|(failure, call)| {
            failure.kind == OutcomeKind::Timeout && (failure.count > 1 || ledger.did_not_end_twice(call))
        })
    }
}

/// A failure of which something else came when it was made again.
fn flaky(mut failure: Failure, verdict: &Verdict) -> Failure {
    let now = verdict.message().map_or_else(String::new, |message| format!(": {message}"));
    failure.kind = OutcomeKind::Flaky;
    failure.message = format!(
        "it was {}, and {} when it was repeated{now}",
        failure.verdict.kind.name(),
        verdict.kind.name()
    );
    failure
}
