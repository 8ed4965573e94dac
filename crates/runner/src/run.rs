//! A run: describe, plan, execute, rerun failures, report.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::calls::OutcomeKind;
use menace_model::{ErrorClass, ErrorDetails};
use menace_sandbox::SandboxError;
use thiserror::Error;
use tokio::sync::watch;
use tracing::{Instrument, info_span};

use crate::call::{Call, uses_network};
use crate::callable_section::CallableSection;
use crate::classify::missing_evidence;
use crate::describe::describe;
use crate::early_reruns::{EarlyReruns, RerunStarter};
use crate::executor::CallExecutor;
use crate::object_recipes::find_object_recipes;
use crate::outcome::{CallClassification, CallOutcome};
use crate::plan::{CallPlan, CallPurpose, PlanInputs, PlannedPreset, plan};
use crate::report::RunReport;
use crate::rerun::rerun_failures;
use crate::scheduler::{BatchPurpose, CallBatch, CallNeeds, CallScheduler, CallSource, FinishedBatch};
use crate::stress::FaultEvidence;
use crate::stubs::{ArgumentSource, GivenStub};

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
    pub source: ArgumentSource,
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
    #[error("the repository, the settings or menace changed since this run began, so it cannot be resumed")]
    PlanChanged,
}

impl ErrorDetails for RunError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Sandbox(error) => error.class(),
            Self::Ledger(_) => ErrorClass::Environment,
            Self::PlanChanged => ErrorClass::Conflict,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Sandbox(error) => error.hint(),
            Self::Ledger(_) => None,
            Self::PlanChanged => Some("start a new run".into()),
        }
    }
}

/// Receiver of the progress of a run.
pub trait RunObserver: Send + Sync {
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
pub type JournalFuture<'a> =
    Pin<Box<dyn Future<Output = Result<(), Box<dyn std::error::Error + Send + Sync>>> + Send + 'a>>;

/// Durable record of call outcomes, written immediately, so that a crash loses only the calls in progress.
pub trait CallJournal: Send + Sync {
    /// Outcomes that an earlier part of this run recorded, by number.
    fn known(&self) -> BTreeMap<u64, CallOutcome>;
    /// Outcome of the identical call of the same code in another run, which makes the call unnecessary.
    fn outcome_of_identical_call(&self, _call: &Call) -> Option<CallOutcome> {
        None
    }
    /// Whether the identical call of the same code timed out in another run, and again when it was rerun there.
    fn timed_out_twice(&self, _call: &Call) -> bool {
        false
    }
    /// Records the number of planned calls and the digest of the plan.
    fn planned<'a>(&'a self, calls: u64, digest: &'a str) -> JournalFuture<'a>;
    /// Records these calls, all or none.
    fn record<'a>(&'a self, made: &'a [RecordedCall]) -> JournalFuture<'a>;
}

/// A call with its outcome.
#[derive(Debug, Clone)]
pub struct RecordedCall {
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
pub struct RunContext<'a> {
    /// Executor of the calls.
    pub executor: &'a Arc<dyn CallExecutor>,
    /// Record of the outcomes.
    pub ledger: &'a dyn CallJournal,
    /// Receiver of the progress.
    pub progress: &'a dyn RunObserver,
    /// Becomes true when the user interrupts the run.
    pub stop: watch::Receiver<bool>,
}

/// Makes all calls of all targets.
pub async fn run(
    context: &mut RunContext<'_>,
    mut targets: Vec<CallableSection>,
    options: &RunOptions,
) -> Result<RunEnd, RunError> {
    let planning = info_span!("plan", targets = targets.len().cast_signed());
    let planned = async {
        describe(context.executor, &mut targets).await?;
        find_object_recipes(context.executor, &targets, options.seed).await
    };
    let owners = planned.instrument(planning).await?;
    let planning = PlanInputs {
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
    let mut execution = PlanExecution::new(&plan, &planning, options, context);
    let scheduler = CallScheduler::new(context.executor, options.parallel);
    let calls = info_span!("calls", planned = plan.calls.len().cast_signed());
    scheduler.run(&mut execution).instrument(calls).await?;
    if execution.outcomes.len() < plan.calls.len() {
        let made = execution.outcomes.len();
        return Ok(RunEnd::Interrupted { made, planned: plan.calls.len() });
    }
    let seconds = began.elapsed().as_secs_f64();
    let outcomes = mark_flaky_calls(&plan, execution.outcomes);
    let mut report = RunReport::new(options.seed, &planning, &plan, &outcomes);
    report.seconds = seconds;
    let repetitions = execution.repetitions;
    let again = info_span!("look again", failures = report.failures.len().cast_signed());
    rerun_failures(context, &mut report, (&plan, &planning), options, repetitions).instrument(again).await?;
    if *context.stop.borrow() {
        return Ok(RunEnd::Interrupted { made: plan.calls.len(), planned: plan.calls.len() });
    }
    Ok(RunEnd::Finished(Box::new(report)))
}

/// Digest that identifies a plan.
fn digest(plan: &CallPlan) -> String {
    let mut hasher = blake3::Hasher::new();
    for call in &plan.calls {
        let stub = serde_json::to_string(&call.stub).unwrap_or_default();
        hasher.update(format!("{} {} {} {stub}\n", call.target, call.preset, call.seed).as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// The calls of a plan: which were made, and what is next.
struct PlanExecution<'a> {
    plan: &'a CallPlan,
    planning: &'a PlanInputs<'a>,
    options: &'a RunOptions,
    context: &'a RunContext<'a>,
    /// Number of the next call.
    next: usize,
    /// Calls of the baseline may still be under way.
    is_baseline_open: bool,
    outcomes: BTreeMap<usize, CallOutcome>,
    /// Outcomes of other runs, to be recorded in this one.
    carried: Vec<RecordedCall>,
    /// Reruns of calls that timed out waiting for the network, which run while other calls are made.
    repetitions: EarlyReruns,
}

impl CallSource for PlanExecution<'_> {
    type Error = RunError;

    fn next_needs(&mut self) -> Option<CallNeeds> {
        let planned = self.plan.calls.get(self.next)?;
        let profile = &self.planning.presets[planned.preset].circumstances;
        // A call that is compared with a baseline call needs the outcome of that one.
        let follows_others = self.is_baseline_open && profile.is_paired();
        self.is_baseline_open = (self.is_baseline_open && !follows_others) || profile.is_baseline;
        let uses_network = uses_network(&self.planning.targets[planned.target]);
        Some(CallNeeds { follows_others, ..CallNeeds::of(profile, uses_network) })
    }

    async fn next_batch(&mut self) -> Result<Option<CallBatch>, RunError> {
        if *self.context.stop.borrow() {
            return Ok(None);
        }
        let batch = self.collect_batch();
        let carried = std::mem::take(&mut self.carried);
        self.record_calls(carried).await?;
        Ok(Some(batch))
    }

    fn early_reruns(&self) -> Option<RerunStarter> {
        Some(self.repetitions.starter())
    }

    async fn batch_ended(&mut self, ended: FinishedBatch) -> Result<(), RunError> {
        if let (Some(rerun), [(number, _)]) = (ended.early_rerun, &ended.batch[..]) {
            self.repetitions.keep(*number, rerun);
        }
        let made = ended
            .batch
            .into_iter()
            .zip(ended.outcomes)
            .map(|((number, call), outcome)| RecordedCall { number: number as u64, call, outcome })
            .collect();
        self.record_calls(made).await
    }
}

impl<'a> PlanExecution<'a> {
    /// Starts with the outcomes that an earlier part of the run recorded.
    fn new(
        plan: &'a CallPlan,
        planning: &'a PlanInputs<'a>,
        options: &'a RunOptions,
        context: &'a RunContext<'a>,
    ) -> Self {
        let known = context.ledger.known().into_iter();
        let outcomes: BTreeMap<usize, CallOutcome> = known
            .filter_map(|(number, outcome)| Some((usize::try_from(number).ok()?, outcome)))
            .filter(|(number, _)| *number < plan.calls.len())
            .collect();
        context.progress.planned(plan.calls.len(), outcomes.len());
        Self {
            plan,
            planning,
            options,
            context,
            next: 0,
            is_baseline_open: false,
            outcomes,
            carried: Vec::new(),
            repetitions: EarlyReruns::default(),
        }
    }

    /// The next calls that share an import.
    fn collect_batch(&mut self) -> CallBatch {
        let mut batch = CallBatch::new();
        let preset = self.plan.calls.get(self.next).map(|planned| planned.preset);
        // There is room for calls of this preset; whether there is room for those of the next is not known.
        while let Some(planned) = self.plan.calls.get(self.next).filter(|one| Some(one.preset) == preset) {
            let number = self.next;
            let call = self.plan.call(number, self.planning, self.options.timeout);
            let fits = batch.first().is_none_or(|(first, of_first)| {
                self.plan.calls[*first].purpose.can_share_import(planned.purpose)
                    && of_first.can_share_import_with(&call)
            });
            let starves = call.circumstances.proofs.contains(&FaultEvidence::Starved);
            if !fits || batch.len() == BatchPurpose::Run.largest_batch(starves) {
                break;
            }
            self.next += 1;
            if self.outcomes.contains_key(&number) {
                continue;
            }
            if let Some(reason) = self.skip_reason(number) {
                let outcome = CallOutcome::not_made(reason);
                self.context.progress.called(outcome.verdict.kind);
                self.outcomes.insert(number, outcome);
                continue;
            }
            match self.context.ledger.outcome_of_identical_call(&call) {
                Some(outcome) => self.carried.push(RecordedCall { number: number as u64, call, outcome }),
                None => batch.push((number, call)),
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
        let looks_outside = uses_network(&self.planning.targets[planned.target]);
        let can_happen = |proof: &FaultEvidence| match proof {
            FaultEvidence::Delayed | FaultEvidence::Disturbed | FaultEvidence::Upstream => {
                !made_no_connection(pair)
            }
            FaultEvidence::Drifted => planned.stub.drifted > 0 || !made_no_connection(pair),
            FaultEvidence::Faulted => looks_outside || !wrote_no_file(pair),
            FaultEvidence::Memory => !used_little_memory(pair, profile.limits.memory),
            FaultEvidence::Overlap
            | FaultEvidence::Starved
            | FaultEvidence::Disk
            | FaultEvidence::Deadline => true,
        };
        let proofs = &profile.proofs;
        let cannot = !proofs.is_empty() && !proofs.iter().any(can_happen);
        cannot.then(|| missing_evidence(proofs))
    }

    async fn record_calls(&mut self, made: Vec<RecordedCall>) -> Result<(), RunError> {
        if made.is_empty() {
            return Ok(());
        }
        self.context.ledger.record(&made).await.map_err(RunError::Ledger)?;
        for RecordedCall { number, outcome, .. } in made {
            self.context.progress.called(outcome.verdict.kind);
            self.outcomes.insert(usize::try_from(number).unwrap_or(usize::MAX), outcome);
        }
        Ok(())
    }
}

/// Whether a call was seen to open no connection, which is all that it would need a network for.
fn made_no_connection(outcome: &CallOutcome) -> bool {
    outcome.measures.as_ref().is_some_and(|measures| {
        measures.flows.is_empty() && measures.seen.as_ref().is_some_and(|seen| seen.connections == 0)
    })
}

/// Whether a call used so little memory that it cannot come near a limit: a quarter of the amount that is near.
fn used_little_memory(outcome: &CallOutcome, limit: Option<u64>) -> bool {
    let peak = outcome.measures.as_ref().and_then(|measures| measures.peak_rss_bytes);
    peak.zip(limit).is_some_and(|(peak, limit)| peak < limit / 8)
}

/// Whether a call was seen to open no file for writing.
fn wrote_no_file(outcome: &CallOutcome) -> bool {
    let seen = outcome.measures.as_ref().and_then(|measures| measures.seen.as_ref());
    seen.is_some_and(|seen| seen.files == 0)
}

/// Marks calls as flaky whose repetition had another outcome, and returns all outcomes in the order of the plan.
fn mark_flaky_calls(plan: &CallPlan, mut outcomes: BTreeMap<usize, CallOutcome>) -> Vec<CallOutcome> {
    for (number, call) in plan.calls.iter().enumerate() {
        let CallPurpose::Repeat { of, .. } = call.purpose else { continue };
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
fn difference(first: &CallClassification, again: &CallClassification) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::WorkflowError;

    #[test]
    fn texts_are_one_line_and_the_hint_of_a_sandbox_is_kept() {
        let refused = || SandboxError::Refused { problem: "no".into(), hint: "do".into() };
        let errors: [(Box<dyn ErrorDetails>, ErrorClass, Option<&str>); 5] = [
            (Box::new(RunError::Sandbox(refused())), ErrorClass::Conflict, Some("do")),
            (Box::new(RunError::Ledger("disk full".into())), ErrorClass::Environment, None),
            (Box::new(RunError::PlanChanged), ErrorClass::Conflict, Some("start a new run")),
            (Box::new(WorkflowError::Sandbox(refused())), ErrorClass::Conflict, Some("do")),
            (
                Box::new(WorkflowError::NotCallable { section: "a:b".into(), reason: "a class".into() }),
                ErrorClass::Usage,
                None,
            ),
        ];
        for (error, class, hint) in errors {
            let text = error.to_string();
            assert_eq!((error.class(), error.hint().as_deref()), (class, hint), "{text}");
            assert!(!text.contains('\n') && !text.contains("hint:"), "{text}");
        }
    }
}
