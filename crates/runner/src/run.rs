//! A run: describe, plan, execute, look again at what failed, report.

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

/// How a run is made.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// What all chance comes from.
    pub seed: u64,
    /// What is done to calls; the baseline first.
    pub presets: Vec<PlannedPreset>,
    /// Arguments that somebody gave.
    pub given: Vec<GivenStub>,
    /// What the others are chosen from.
    pub source: Source,
    /// How long a call may take.
    pub timeout: Duration,
    /// Calls that are under way at once.
    pub parallel: usize,
    /// The plan that an interrupted run had; it has to be the same again.
    pub digest: Option<String>,
    /// Calls that may be spent on making the input of one failure smaller.
    pub shrinking: usize,
}

impl RunOptions {
    /// Enough to make nearly every input as small as it gets.
    pub const THOROUGH: usize = 160;
}

/// Why a run ended before its end.
#[derive(Debug, Error)]
pub enum RunError {
    /// Our machinery failed.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// What came of calls could not be written down.
    #[error("failed to write down what came of a call: {0}")]
    Ledger(Box<dyn std::error::Error + Send + Sync>),
    /// It cannot go on, because it would be another run.
    #[error(
        "the repository, the settings or menace changed since this run began, so it cannot go on\nhint: start a new run"
    )]
    PlanChanged,
}

/// Who is told how far a run is.
pub trait Progress: Send + Sync {
    /// So many calls are planned, of which so many were made before.
    fn planned(&self, calls: usize, made: usize);
    /// One more was made.
    fn called(&self, kind: OutcomeKind);
    /// So many failures are looked at again.
    fn shrinking(&self, failures: usize);
    /// One of them is done.
    fn shrunk(&self);
}

/// A result of writing something down.
pub type Written<'a> =
    Pin<Box<dyn Future<Output = Result<(), Box<dyn std::error::Error + Send + Sync>>> + Send + 'a>>;

/// Where what came of calls is written down, at once, so that a crash loses only the calls under way.
pub trait Ledger: Send + Sync {
    /// What an earlier part of this run wrote down, by number.
    fn known(&self) -> BTreeMap<u64, CallOutcome>;
    /// What came of the very same call of the same code in another run, so that it need not be made again.
    fn carried(&self, _call: &Call) -> Option<CallOutcome> {
        None
    }
    /// Whether the very same call of the same code did not end in another run, nor when it was made once more there.
    fn did_not_end_twice(&self, _call: &Call) -> bool {
        false
    }
    /// So many calls are planned; the text tells this plan from others.
    fn planned<'a>(&'a self, calls: u64, digest: &'a str) -> Written<'a>;
    /// Something came of these calls; all are written down, or none.
    fn record<'a>(&'a self, made: &'a [Recorded]) -> Written<'a>;
}

/// A call that was made.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its number in the run.
    pub number: u64,
    /// What was called.
    pub call: Call,
    /// What came of it.
    pub outcome: CallOutcome,
}

/// How a run ended.
#[derive(Debug)]
pub enum RunEnd {
    /// All calls were made.
    Finished(Box<RunReport>),
    /// Its user ended it.
    Interrupted {
        /// Calls that were made.
        made: usize,
        /// Calls that are planned.
        planned: usize,
    },
}

/// What a run needs from outside.
pub struct Surroundings<'a> {
    /// Who makes the calls.
    pub executor: &'a Arc<dyn Execute>,
    /// Where they are written down.
    pub ledger: &'a dyn Ledger,
    /// Who is told.
    pub progress: &'a dyn Progress,
    /// Becomes true when the user wants it to end.
    pub stop: watch::Receiver<bool>,
}

/// Makes all calls of all targets.
pub async fn run(
    surroundings: &mut Surroundings<'_>,
    mut targets: Vec<Target>,
    options: &RunOptions,
) -> Result<RunEnd, RunError> {
    let planning = info_span!("plan", targets = targets.len().cast_signed());
    let planned = async {
        describe(surroundings.executor, &mut targets).await?;
        find_owners(surroundings.executor, &targets, options.seed).await
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
    surroundings.ledger.planned(plan.calls.len() as u64, &digest).await.map_err(RunError::Ledger)?;
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
    if !execution.run(surroundings).instrument(calls).await? {
        let made = execution.outcomes.len();
        return Ok(RunEnd::Interrupted { made, planned: plan.calls.len() });
    }
    let seconds = began.elapsed().as_secs_f64();
    let outcomes = repeated(&plan, execution.outcomes);
    let mut report = RunReport::new(options.seed, &planning, &plan, &outcomes);
    report.seconds = seconds;
    let repetitions = execution.repetitions;
    let again = info_span!("look again", failures = report.failures.len().cast_signed());
    look_again(surroundings, &mut report, (&plan, &planning), options, repetitions).instrument(again).await?;
    if *surroundings.stop.borrow() {
        return Ok(RunEnd::Interrupted { made: plan.calls.len(), planned: plan.calls.len() });
    }
    Ok(RunEnd::Finished(Box::new(report)))
}

/// Tells a plan from others.
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

/// What came of them, and one that was made once more meanwhile.
struct Finished {
    batch: Batch,
    outcomes: Result<Vec<CallOutcome>, SandboxError>,
    twin: Option<Repetition>,
}

/// What is lost when menace is killed, and what one hanging call holds up, is at most so many calls.
const LARGEST_BATCH: usize = 48;
/// Calls that are held back take long, and nobody else can be called until the last of them has ended.
const LARGEST_STARVING: usize = 8;

struct Execution<'a> {
    plan: &'a Plan,
    planning: &'a Planning<'a>,
    options: &'a RunOptions,
    outcomes: BTreeMap<usize, CallOutcome>,
    /// What came of calls in another run, to be written down in this one.
    carried: Vec<Recorded>,
    /// Batches under way that wait for others.
    waiting: usize,
    /// Calls that waited for others in vain, which are made once more while other calls are made.
    repetitions: Repetitions,
}

impl Execution<'_> {
    /// Makes the calls, a bounded number at once; false when the user ended it.
    async fn run(&mut self, surroundings: &mut Surroundings<'_>) -> Result<bool, RunError> {
        let known = surroundings.ledger.known();
        for (number, outcome) in known {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            if number < self.plan.calls.len() {
                self.outcomes.insert(number, outcome);
            }
        }
        surroundings.progress.planned(self.plan.calls.len(), self.outcomes.len());
        let mut under_way = JoinSet::new();
        let (mut number, mut is_baseline_open, mut was_starving) = (0, false, false);
        while number < self.plan.calls.len() {
            let next = &self.planning.presets[self.plan.calls[number].preset].circumstances;
            let is_starving = next.proofs.contains(&Proof::Starved);
            // What is compared with a call of the baseline needs to know what came of that one, and nobody else is to feel
            // what starves some.
            let waits = (is_baseline_open && next.is_paired()) || is_starving != was_starving;
            was_starving = is_starving;
            is_baseline_open = (is_baseline_open && !waits) || next.is_baseline;
            let asks_others = needs_world(&self.planning.targets[self.plan.calls[number].target]);
            let room = if waits { 1 } else { self.options.parallel * next.places(asks_others) };
            // Who waits for an answer that does not come takes nothing of the machine, and nobody waits for it.
            let waiting = next.disturbs_network();
            while self.count(under_way.len(), waiting && !waits) >= room {
                self.finish_one(surroundings, &mut under_way).await?;
            }
            if *surroundings.stop.borrow() {
                break;
            }
            let batch = self.next_batch(&mut number, surroundings);
            let carried = std::mem::take(&mut self.carried);
            self.write_down(surroundings, carried).await?;
            if batch.is_empty() {
                continue;
            }
            self.waiting += usize::from(waits_for_others(&batch));
            let (executor, twins) = (Arc::clone(surroundings.executor), self.repetitions.twins());
            under_way.spawn(async move {
                let calls: Vec<Call> = batch.iter().map(|(_, call)| call.clone()).collect();
                // What came of a call in a batch has to come of it alone, too.
                let (outcomes, twin) = match &calls[..] {
                    [alone] => twins.outcome_of(&executor, alone).await,
                    together => (outcomes_of_batch(&executor, together).await, None),
                };
                Finished { batch, outcomes, twin }
            });
        }
        while !under_way.is_empty() {
            self.finish_one(surroundings, &mut under_way).await?;
        }
        Ok(self.outcomes.len() == self.plan.calls.len())
    }

    /// Batches under way of those that wait for others, or of all others.
    fn count(&self, under_way: usize, waiting: bool) -> usize {
        if waiting { self.waiting } else { under_way - self.waiting }
    }

    /// The next calls that can be made together: of one module, under one preset.
    fn next_batch(&mut self, number: &mut usize, surroundings: &Surroundings<'_>) -> Batch {
        let mut batch = Batch::new();
        let preset = self.plan.calls.get(*number).map(|planned| planned.preset);
        // There is room for calls of this preset. Whether there is for those of the next is not known.
        while let Some(planned) = self.plan.calls.get(*number).filter(|one| Some(one.preset) == preset) {
            let fits = batch.first().is_none_or(|(first, call)| {
                let of_first = &self.plan.calls[*first];
                of_first.purpose.goes_with(planned.purpose)
                    && call.module == self.planning.targets[planned.target].module
                    // What waits for others need not wait for each other.
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
            if let Some(reason) = self.is_pointless(current) {
                let verdict = Verdict::new(OutcomeKind::Void, reason);
                surroundings.progress.called(verdict.kind);
                self.outcomes.insert(current, CallOutcome { verdict, measures: None });
                continue;
            }
            let call = self.plan.call(current, self.planning, self.options.timeout);
            match surroundings.ledger.carried(&call) {
                Some(outcome) => self.carried.push(Recorded { number: current as u64, call, outcome }),
                None => batch.push((current, call)),
            }
        }
        batch
    }

    /// What fails without anything done to it says nothing about what is done, and neither does what is done to others that
    /// the same call does not ask.
    fn is_pointless(&self, number: usize) -> Option<String> {
        let planned = &self.plan.calls[number];
        let pair = self.outcomes.get(&planned.pair?)?;
        if !pair.verdict.kind.is_success() {
            return Some("it fails without it, too".into());
        }
        let circumstances = &self.planning.presets[planned.preset].circumstances;
        let looks_outside = needs_world(&self.planning.targets[planned.target]);
        let can_happen = |proof: &Proof| match proof {
            Proof::Delayed | Proof::Disturbed | Proof::Upstream => !asks_nobody(pair),
            Proof::Drifted => planned.stub.drifted > 0 || !asks_nobody(pair),
            Proof::Faulted => looks_outside || !writes_nothing(pair),
            Proof::Memory => !needs_little(pair, circumstances.limits.memory),
            Proof::Overlap | Proof::Starved | Proof::Disk | Proof::Deadline => true,
        };
        let proofs = &circumstances.proofs;
        let cannot = !proofs.is_empty() && !proofs.iter().any(can_happen);
        cannot.then(|| not_happened(proofs))
    }

    async fn finish_one(
        &mut self,
        surroundings: &Surroundings<'_>,
        under_way: &mut JoinSet<Finished>,
    ) -> Result<(), RunError> {
        let Some(finished) = under_way.join_next().await else { return Ok(()) };
        let Finished { batch, outcomes, twin } =
            finished.map_err(|error| SandboxError::Protocol(format!("calls were lost: {error}")))?;
        self.waiting -= usize::from(waits_for_others(&batch));
        if let (Some(twin), [(number, _)]) = (twin, &batch[..]) {
            self.repetitions.keep(*number, twin);
        }
        let made: Vec<Recorded> = batch
            .into_iter()
            .zip(outcomes?)
            .map(|((number, call), outcome)| Recorded { number: number as u64, call, outcome })
            .collect();
        self.write_down(surroundings, made).await
    }

    async fn write_down(
        &mut self,
        surroundings: &Surroundings<'_>,
        made: Vec<Recorded>,
    ) -> Result<(), RunError> {
        if made.is_empty() {
            return Ok(());
        }
        surroundings.ledger.record(&made).await.map_err(RunError::Ledger)?;
        for Recorded { number, outcome, .. } in made {
            surroundings.progress.called(outcome.verdict.kind);
            self.outcomes.insert(usize::try_from(number).unwrap_or(usize::MAX), outcome);
        }
        Ok(())
    }
}

/// Whether a call was seen to ask for no connection. What it would be given a network for is just that.
fn asks_nobody(outcome: &CallOutcome) -> bool {
    outcome
        .measures
        .as_ref()
        .is_some_and(|measures| measures.flows.is_empty() && measures.saw("connections") == Some(0))
}

/// Whether a call took so little memory that it cannot come near a limit: a quarter of what would be near.
fn needs_little(outcome: &CallOutcome, limit: Option<u64>) -> bool {
    let peak = outcome.measures.as_ref().and_then(|measures| measures.peak_rss_bytes);
    peak.zip(limit).is_some_and(|(peak, limit)| peak < limit / 8)
}

/// Whether a call was seen to open no file for writing.
fn writes_nothing(outcome: &CallOutcome) -> bool {
    outcome.measures.as_ref().is_some_and(|measures| measures.saw("files") == Some(0))
}

/// In the order of the plan. A call of which something else came when it was repeated is flaky.
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

/// What is different between two outcomes of one call.
fn difference(first: &Verdict, again: &Verdict) -> Option<String> {
    if !first.kind.counts() || !again.kind.counts() {
        return None;
    }
    if first.kind != again.kind {
        return Some(format!("it was {}, and {} when it was repeated", first.kind.name(), again.kind.name()));
    }
    let (one, other) = (first.value.as_ref()?, again.value.as_ref()?);
    (one != other).then(|| format!("it returned {}, and then {}", beginning(one), beginning(other)))
}

fn beginning(text: &str) -> String {
    if text.chars().count() <= 60 { text.to_owned() } else { text.chars().take(59).chain(['…']).collect() }
}
