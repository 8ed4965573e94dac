//! A run: describe, plan, execute, rerun failures, report.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::calls::OutcomeKind;
use menace_sandbox::SandboxError;
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{Instrument, info_span};

use crate::again::look_again;
use crate::call::{Call, needs_world};
use crate::circumstances::Proof;
use crate::describe::describe;
use crate::execute::Execute;
use crate::judge::not_happened;
use crate::minimise::outcomes_of_batch;
use crate::outcome::{CallOutcome, Verdict};
use crate::owners::find_owners;
use crate::plan::{Plan, PlannedPreset, Planning, Purpose, plan};
use crate::repetitions::{Repetition, Repetitions};
use crate::report::RunReport;
use crate::stubs::{GivenStub, Source};
use crate::target::Target;

/// Options of a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Seed of every random choice.
    pub seed: u64,
    /// Stress profiles; the baseline first.
    pub presets: Vec<PlannedPreset>,
    /// Arguments given by the user.
    pub given: Vec<GivenStub>,
    /// Source of all other arguments.
    pub source: Source,
    /// Timeout of a call.
    pub timeout: Duration,
    /// Number of concurrent calls.
    pub parallel: usize,
    /// Digest of the plan of an interrupted run, which must be the same when it is resumed.
    pub digest: Option<String>,
    /// Maximum number of calls for shrinking the input of one failure.
    pub shrinking: usize,
}

impl RunOptions {
    /// Enough calls to shrink nearly every input as far as possible.
    pub const THOROUGH: usize = 160;
}

/// Error that ended a run early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The sandbox failed.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// Outcomes could not be recorded.
    #[error("failed to record call outcomes: {0}")]
    Ledger(Box<dyn std::error::Error + Send + Sync>),
    /// The plan differs from that of the interrupted run.
    #[error(
        "the repository, the settings or menace changed since this run began, so it cannot be resumed\nhint: start a new run"
    )]
    PlanChanged,
}

/// Receiver of the progress of a run.
pub trait Progress: Send + Sync {
    /// The plan is complete: its number of calls, and how many of them were made before.
    fn planned(&self, calls: usize, made: usize);
    /// A call was made.
    fn called(&self, kind: OutcomeKind);
    /// Rerunning and shrinking starts, for this number of failures.
    fn shrinking(&self, failures: usize);
    /// A failure was rerun and shrunk.
    fn shrunk(&self);
}

/// Future of a write to the journal.
pub type Written<'a> =
    Pin<Box<dyn Future<Output = Result<(), Box<dyn std::error::Error + Send + Sync>>> + Send + 'a>>;

/// Durable record of call outcomes, written immediately, so that a crash loses only the calls in progress.
pub trait Ledger: Send + Sync {
    /// Outcomes that an earlier part of this run recorded, by number.
    fn known(&self) -> BTreeMap<u64, CallOutcome>;
    /// Outcome of the identical call of the same code in another run, which makes the call unnecessary.
    fn carried(&self, _call: &Call) -> Option<CallOutcome> {
        None
    }
    /// Whether the identical call of the same code timed out in another run, and again when it was rerun there.
    fn did_not_end_twice(&self, _call: &Call) -> bool {
        false
    }
    /// Records the number of planned calls and the digest of the plan.
    fn planned<'a>(&'a self, calls: u64, digest: &'a str) -> Written<'a>;
    /// Records these calls, all or none.
    fn record<'a>(&'a self, made: &'a [Recorded]) -> Written<'a>;
}

/// A call with its outcome.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its number in the run.
    pub number: u64,
    /// The call.
    pub call: Call,
    /// Its outcome.
    pub outcome: CallOutcome,
}

/// End of a run.
#[derive(Debug)]
pub enum RunEnd {
    /// All calls were made.
    Finished(Box<RunReport>),
    /// Interrupted by the user.
    Interrupted {
        /// Calls that were made.
        made: usize,
        /// Calls that are planned.
        planned: usize,
    },
}

/// Services that a run uses.
pub struct Surroundings<'a> {
    /// Executor of the calls.
    pub executor: &'a Arc<dyn Execute>,
    /// Record of the outcomes.
    pub ledger: &'a dyn Ledger,
    /// Receiver of the progress.
    pub progress: &'a dyn Progress,
    /// Becomes true when the user interrupts the run.
    pub stop: watch::Receiver<bool>,
}

/// Makes all calls of all targets.
pub async fn run(
    context: &mut Surroundings<'_>,
    mut targets: Vec<Target>,
    options: &RunOptions,
) -> Result<RunEnd, RunError> {
    let planning = info_span!("plan", targets = targets.len().cast_signed());
    let planned = async {
        describe(context.executor, &mut targets).await?;
        find_owners(context.executor, &targets, options.seed).await
    };
    let owners = planned.instrument(planning).await?;
    let planning = Planning {
        targets: &targets,
        presets: &options.presets,
        seed: options.seed,
        source: options.source,
        owners: &owners,
        given: &options.given,
    };
    let plan = plan(&planning);
    let digest = digest(&plan);
    if options.digest.as_ref().is_some_and(|before| *before != digest) {
        return Err(RunError::PlanChanged);
    }
    context.ledger.planned(plan.calls.len() as u64, &digest).await.map_err(RunError::Ledger)?;
    let began = Instant::now();
    let mut execution = Execution {
        plan: &plan,
        planning: &planning,
        options,
        outcomes: BTreeMap::new(),
        carried: Vec::new(),
        waiting: 0,
        repetitions: Repetitions::default(),
    };
    let calls = info_span!("calls", planned = plan.calls.len().cast_signed());
    if !execution.run(context).instrument(calls).await? {
        let made = execution.outcomes.len();
        return Ok(RunEnd::Interrupted { made, planned: plan.calls.len() });
    }
    let seconds = began.elapsed().as_secs_f64();
    let outcomes = repeated(&plan, execution.outcomes);
    let mut report = RunReport::new(options.seed, &planning, &plan, &outcomes);
    report.seconds = seconds;
    let repetitions = execution.repetitions;
    let again = info_span!("look again", failures = report.failures.len().cast_signed());
    look_again(context, &mut report, (&plan, &planning), options, repetitions).instrument(again).await?;
    if *context.stop.borrow() {
        return Ok(RunEnd::Interrupted { made: plan.calls.len(), planned: plan.calls.len() });
    }
    Ok(RunEnd::Finished(Box::new(report)))
}

/// Digest that identifies a plan.
fn digest(plan: &Plan) -> String {
    let mut hasher = blake3::Hasher::new();
    for call in &plan.calls {
        let stub = serde_json::to_string(&call.stub).unwrap_or_default();
        hasher.update(format!("{} {} {} {stub}\n", call.target, call.preset, call.seed).as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Calls that are made together, with their numbers.
type Batch = Vec<(usize, Call)>;

fn waits_for_others(batch: &[(usize, Call)]) -> bool {
    batch.iter().any(|(_, call)| call.circumstances.disturbs_network())
}

/// A finished batch with its outcomes, and a rerun that was started meanwhile.
struct Finished {
    batch: Batch,
    outcomes: Result<Vec<CallOutcome>, SandboxError>,
    twin: Option<Repetition>,
}

/// Maximum number of calls that are lost when menace is killed, and that one hanging call delays.
const LARGEST_BATCH: usize = 48;
/// Calls under a CPU quota take long, and no other call can be made until the last of them has ended.
const LARGEST_STARVING: usize = 8;

struct Execution<'a> {
    plan: &'a Plan,
    planning: &'a Planning<'a>,
    options: &'a RunOptions,
    outcomes: BTreeMap<usize, CallOutcome>,
    /// Outcomes of other runs, to be recorded in this one.
    carried: Vec<Recorded>,
    /// Batches in progress that wait for the network.
    waiting: usize,
    /// Reruns of calls that timed out waiting for the network, which run while other calls are made.
    repetitions: Repetitions,
}

impl Execution<'_> {
    /// Makes the calls, a bounded number of them concurrently; false when the user interrupted the run.
    async fn run(&mut self, context: &mut Surroundings<'_>) -> Result<bool, RunError> {
        let known = context.ledger.known();
        for (number, outcome) in known {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            if number < self.plan.calls.len() {
                self.outcomes.insert(number, outcome);
            }
        }
        context.progress.planned(self.plan.calls.len(), self.outcomes.len());
        let mut under_way = JoinSet::new();
        let (mut number, mut is_baseline_open, mut was_starving) = (0, false, false);
        while number < self.plan.calls.len() {
            let next = &self.planning.presets[self.plan.calls[number].preset].circumstances;
            let is_starving = next.proofs.contains(&Proof::Starved);
            // A call that is compared with a baseline call needs the outcome of that one, and starving calls must not
            // overlap with any others.
            let waits = (is_baseline_open && next.is_paired()) || is_starving != was_starving;
            was_starving = is_starving;
            is_baseline_open = (is_baseline_open && !waits) || next.is_baseline;
            let asks_others = needs_world(&self.planning.targets[self.plan.calls[number].target]);
            let room = if waits { 1 } else { self.options.parallel * next.places(asks_others) };
            // A call that waits for a response uses no CPU, so it does not occupy the slot of an ordinary call.
            let waiting = next.disturbs_network();
            while self.count(under_way.len(), waiting && !waits) >= room {
                self.finish_one(context, &mut under_way).await?;
            }
            if *context.stop.borrow() {
                break;
            }
            let batch = self.next_batch(&mut number, context);
            let carried = std::mem::take(&mut self.carried);
            self.write_down(context, carried).await?;
            if batch.is_empty() {
                continue;
            }
            self.waiting += usize::from(waits_for_others(&batch));
            let (executor, twins) = (Arc::clone(context.executor), self.repetitions.twins());
            under_way.spawn(async move {
                let calls: Vec<Call> = batch.iter().map(|(_, call)| call.clone()).collect();
                // A call has to have the same outcome in a batch as alone.
                let (outcomes, twin) = match &calls[..] {
                    [alone] => twins.outcome_of(&executor, alone).await,
                    together => (outcomes_of_batch(&executor, together).await, None),
                };
                Finished { batch, outcomes, twin }
            });
        }
        while !under_way.is_empty() {
            self.finish_one(context, &mut under_way).await?;
        }
        Ok(self.outcomes.len() == self.plan.calls.len())
    }

    /// Number of batches in progress that wait for the network, or of all other batches.
    fn count(&self, under_way: usize, waiting: bool) -> usize {
        if waiting { self.waiting } else { under_way - self.waiting }
    }

    /// The next calls that can be made together: of one module, under one preset.
    fn next_batch(&mut self, number: &mut usize, context: &Surroundings<'_>) -> Batch {
        let mut batch = Batch::new();
        let preset = self.plan.calls.get(*number).map(|planned| planned.preset);
        // There is room for calls of this preset; whether there is room for those of the next is not known.
        while let Some(planned) = self.plan.calls.get(*number).filter(|one| Some(one.preset) == preset) {
            let fits = batch.first().is_none_or(|(first, call)| {
                let of_first = &self.plan.calls[*first];
                of_first.purpose.goes_with(planned.purpose)
                    && call.module == self.planning.targets[planned.target].module
                    // Calls that wait for the network must not wait for each other.
                    && !(call.needs_world || needs_world(&self.planning.targets[planned.target]))
            });
            let is_starving =
                self.planning.presets[planned.preset].circumstances.proofs.contains(&Proof::Starved);
            if !fits || batch.len() == if is_starving { LARGEST_STARVING } else { LARGEST_BATCH } {
                break;
            }
            let current = *number;
            *number += 1;
            if self.outcomes.contains_key(&current) {
                continue;
            }
            if let Some(reason) = self.skip_reason(current) {
                let verdict = Verdict::new(OutcomeKind::Void, reason);
                context.progress.called(verdict.kind);
                self.outcomes.insert(current, CallOutcome { verdict, measures: None });
                continue;
            }
            let call = self.plan.call(current, self.planning, self.options.timeout);
            match context.ledger.carried(&call) {
                Some(outcome) => self.carried.push(Recorded { number: current as u64, call, outcome }),
                None => batch.push((current, call)),
            }
        }
        batch
    }

    /// Reason to skip a call: the baseline call fails, or the required evidence cannot occur because the same call
    /// without faults did not use the resource.
    fn skip_reason(&self, number: usize) -> Option<String> {
        let planned = &self.plan.calls[number];
        let pair = self.outcomes.get(&planned.pair?)?;
        if !pair.verdict.kind.is_success() {
            return Some("the baseline call fails too".into());
        }
        let profile = &self.planning.presets[planned.preset].circumstances;
        let looks_outside = needs_world(&self.planning.targets[planned.target]);
        let can_happen = |proof: &Proof| match proof {
            Proof::Delayed | Proof::Disturbed | Proof::Upstream => !made_no_connection(pair),
            Proof::Drifted => planned.stub.drifted > 0 || !made_no_connection(pair),
            Proof::Faulted => looks_outside || !wrote_no_file(pair),
            Proof::Memory => !used_little_memory(pair, profile.limits.memory),
            Proof::Overlap | Proof::Starved | Proof::Disk | Proof::Deadline => true,
        };
        let proofs = &profile.proofs;
        let cannot = !proofs.is_empty() && !proofs.iter().any(can_happen);
        cannot.then(|| not_happened(proofs))
    }

    async fn finish_one(
        &mut self,
        context: &Surroundings<'_>,
        under_way: &mut JoinSet<Finished>,
    ) -> Result<(), RunError> {
        let Some(finished) = under_way.join_next().await else { return Ok(()) };
        let Finished { batch, outcomes, twin } =
            finished.map_err(|error| SandboxError::Protocol(format!("a batch task failed: {error}")))?;
        self.waiting -= usize::from(waits_for_others(&batch));
        if let (Some(twin), [(number, _)]) = (twin, &batch[..]) {
            self.repetitions.keep(*number, twin);
        }
        let made: Vec<Recorded> = batch
            .into_iter()
            .zip(outcomes?)
            .map(|((number, call), outcome)| Recorded { number: number as u64, call, outcome })
            .collect();
        self.write_down(context, made).await
    }

    async fn write_down(&mut self, context: &Surroundings<'_>, made: Vec<Recorded>) -> Result<(), RunError> {
        if made.is_empty() {
            return Ok(());
        }
        context.ledger.record(&made).await.map_err(RunError::Ledger)?;
        for Recorded { number, outcome, .. } in made {
            context.progress.called(outcome.verdict.kind);
            self.outcomes.insert(usize::try_from(number).unwrap_or(usize::MAX), outcome);
        }
        Ok(())
    }
}

/// Whether a call was seen to open no connection, which is all that it would need a network for.
fn made_no_connection(outcome: &CallOutcome) -> bool {
    outcome
        .measures
        .as_ref()
        .is_some_and(|measures| measures.flows.is_empty() && measures.saw("connections") == Some(0))
}

/// Whether a call used so little memory that it cannot come near a limit: a quarter of the amount that is near.
fn used_little_memory(outcome: &CallOutcome, limit: Option<u64>) -> bool {
    let peak = outcome.measures.as_ref().and_then(|measures| measures.peak_rss_bytes);
    peak.zip(limit).is_some_and(|(peak, limit)| peak < limit / 8)
}

/// Whether a call was seen to open no file for writing.
fn wrote_no_file(outcome: &CallOutcome) -> bool {
    outcome.measures.as_ref().is_some_and(|measures| measures.saw("files") == Some(0))
}

/// Marks calls as flaky whose repetition had another outcome, and returns all outcomes in the order of the plan.
fn repeated(plan: &Plan, mut outcomes: BTreeMap<usize, CallOutcome>) -> Vec<CallOutcome> {
    for (number, call) in plan.calls.iter().enumerate() {
        let Purpose::Repeat { of, .. } = call.purpose else { continue };
        let (Some(again), Some(first)) = (outcomes.get(&number), outcomes.get(&of)) else { continue };
        if let Some(difference) = difference(&first.verdict, &again.verdict)
            && let Some(first) = outcomes.get_mut(&of)
        {
            first.verdict.kind = OutcomeKind::Flaky;
            first.verdict.reason = Some(difference);
        }
    }
    outcomes.into_values().collect()
}

/// Difference between two outcomes of one call.
fn difference(first: &Verdict, again: &Verdict) -> Option<String> {
    if !first.kind.counts() || !again.kind.counts() {
        return None;
    }
    if first.kind != again.kind {
        return Some(format!("was {}, then {} when repeated", first.kind.name(), again.kind.name()));
    }
    let (one, other) = (first.value.as_ref()?, again.value.as_ref()?);
    (one != other).then(|| format!("returned {}, then {}", beginning(one), beginning(other)))
}

fn beginning(text: &str) -> String {
    if text.chars().count() <= 60 { text.to_owned() } else { text.chars().take(59).chain(['…']).collect() }
}
