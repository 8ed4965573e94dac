//! A run: describe, plan, execute, report.

use std::sync::Arc;
use std::time::Duration;

use menace_model::calls::OutcomeKind;
use menace_sandbox::SandboxError;
use menace_sandbox::native::CallSpec;
use tokio::task::JoinSet;

use crate::describe::describe;
use crate::execute::Execute;
use crate::judge::{Verdict, judge};
use crate::minimise::{Likeness, minimise};
use crate::owners::find_owners;
use crate::plan::{Counts, Plan, plan};
use crate::report::RunReport;
use crate::scenario::Scenario;
use crate::target::Target;

/// How a run is made.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// What all chance comes from.
    pub seed: u64,
    /// Under which scenarios sections are called.
    pub scenarios: Vec<Scenario>,
    /// Calls of a section under `normal`.
    pub normal_calls: usize,
    /// Calls of a section under each other scenario.
    pub other_calls: usize,
    /// How long a call may take.
    pub timeout: Duration,
    /// Threads of a burst.
    pub threads: u32,
    /// Tasks of a burst.
    pub tasks: u32,
    /// Calls that are under way at once.
    pub parallel: usize,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            scenarios: Scenario::ALL.to_vec(),
            normal_calls: 8,
            other_calls: 12,
            timeout: Duration::from_secs(5),
            threads: 10,
            tasks: 20,
            parallel: 8,
        }
    }
}

/// What came of one call of a plan.
#[derive(Debug, Clone)]
pub struct CallOutcome {
    /// Which call.
    pub call: usize,
    /// What came of it.
    pub verdict: Verdict,
}

/// Who is told how far a run is.
pub trait Progress: Send + Sync {
    /// So many calls are planned.
    fn planned(&self, calls: usize);
    /// One more was made.
    fn called(&self, kind: OutcomeKind);
}

/// Makes all calls of all targets.
pub async fn run(
    executor: &Arc<dyn Execute>,
    mut targets: Vec<Target>,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<RunReport, SandboxError> {
    describe(executor, &mut targets).await?;
    let counts = Counts { normal: options.normal_calls, other: options.other_calls, bursts: 2 };
    let owners = find_owners(executor, &targets, options.seed).await?;
    let plan = plan(&targets, &options.scenarios, counts, options.seed, &owners);
    progress.planned(plan.calls.len());
    let outcomes = execute(executor, &targets, &plan, options, progress).await?;
    let mut report = RunReport::new(options.seed, &targets, &plan, &outcomes);
    for failure in &mut report.failures {
        let outcome = &outcomes[failure.outcome];
        // Each of these would take all of its time, or memory, again.
        if matches!(outcome.verdict.kind, OutcomeKind::Timeout | OutcomeKind::Oom) {
            continue;
        }
        let call = &plan.calls[outcome.call];
        let likeness = Likeness::of(&outcome.verdict);
        let (smallest, verdict) = minimise(executor, &targets[call.target], call, &likeness, options).await?;
        failure.input = smallest.stub;
        // What is said about a failure is said about the input that is shown with it.
        if let Some(message) = verdict.and_then(|verdict| verdict.message()) {
            failure.message = message;
        }
    }
    Ok(report)
}

/// Makes the calls, a bounded number at once, and puts what came of them in the order of the plan.
async fn execute(
    executor: &Arc<dyn Execute>,
    targets: &[Target],
    plan: &Plan,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<Vec<CallOutcome>, SandboxError> {
    let mut outcomes: Vec<Option<CallOutcome>> = vec![None; plan.calls.len()];
    let mut under_way = JoinSet::new();
    let mut next = 0;
    loop {
        while next < plan.calls.len() && under_way.len() < options.parallel {
            let call = &plan.calls[next];
            let request = call.request(&targets[call.target], options.threads, options.tasks);
            let spec = CallSpec::new(request).timeout(options.timeout);
            let executor = Arc::clone(executor);
            let index = next;
            under_way.spawn(async move { (index, executor.execute(&spec).await) });
            next += 1;
        }
        let Some(finished) = under_way.join_next().await else { break };
        let (index, raw) =
            finished.map_err(|error| SandboxError::Protocol(format!("a call was lost: {error}")))?;
        let raw = raw?;
        let call = &plan.calls[index];
        let target = &targets[call.target];
        let mut verdict = judge(&raw, &call.stub, &target.section.raises);
        if call.scenario == Scenario::ConcurrencySpike && verdict.kind == OutcomeKind::Ok {
            // Calls that are over before the next one begins do not meet.
            let overlapping = raw.returned.as_ref().and_then(|answer| answer["overlapping"].as_u64());
            if overlapping.unwrap_or(0) < 2 {
                verdict.kind = OutcomeKind::Void;
            }
        }
        progress.called(verdict.kind);
        outcomes[index] = Some(CallOutcome { call: index, verdict });
    }
    Ok(outcomes.into_iter().flatten().collect())
}
