//! Simulation of a workflow: executes it many times, with its steps (on) or with no-ops in their place (off).

use std::sync::Arc;
use std::time::Duration;

use menace_model::calls::{Described, OutcomeKind};
use menace_model::network::Mocks;
use menace_sandbox::SandboxError;
use menace_sandbox::native::{CallSpec, RawOutcome, World};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::task::JoinSet;

use super::cell::{StepSeen, Time, WorkflowCell};
use super::fixtures::Fixtures;
use crate::call::Call;
use crate::chance::Chance;
use crate::circumstances::Circumstances;
use crate::execute::Execute;
use crate::judge::judge;
use crate::outcome::Verdict;
use crate::owners::Owners;
use crate::stubs::{Constructors, Source, Strategy, stub};
use crate::target::Target;
use crate::world::world_of;

/// Whether the steps are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The steps are executed.
    On,
    /// Each step is a no-op: what remains is the cost of everything around the steps.
    Off,
}

/// Error of a simulation.
#[derive(Debug, Error)]
pub enum WorkflowError {
    /// The sandbox failed.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// The repository has no such section.
    #[error(
        "no section {0} in the repository\nhint: list sections as module:qualname with 'menace scan --json'"
    )]
    NoSection(String),
    /// The section cannot be called.
    #[error("{section} cannot be called: {reason}")]
    NotCallable {
        /// Section of the step.
        section: String,
        /// Reason.
        reason: String,
    },
}

/// Inputs of workflow simulations.
pub struct Simulation<'a> {
    /// Executor of the calls.
    pub executor: &'a Arc<dyn Execute>,
    /// All sections of the repository, described.
    pub targets: &'a [Target],
    /// Recipes of objects that could be constructed.
    pub owners: &'a Owners,
    /// Seed of every random choice.
    pub seed: u64,
    /// Number of executions in each cell.
    pub times: usize,
    /// Timeout of one execution.
    pub timeout: Duration,
    /// Files and environment variables of the steps.
    pub fixtures: &'a Fixtures,
    /// Refuse network access, unless a mock rule answers it.
    pub safe_mode: bool,
    /// Mock rules that take precedence over plausible responses.
    pub network_mocks: Option<Mocks>,
}

impl Simulation<'_> {
    /// Executes a workflow under a stress profile.
    pub async fn cell(
        &self,
        steps: &[String],
        profile: &Circumstances,
        mode: Mode,
    ) -> Result<WorkflowCell, WorkflowError> {
        let constructors = Constructors::of(self.targets);
        let mut under_way = JoinSet::new();
        for draw in 0..self.times {
            let calls = self.calls(steps, profile, draw, &constructors)?;
            let spec = self.spec(&calls, profile, mode, draw);
            let executor = Arc::clone(self.executor);
            under_way.spawn(async move { (draw, calls, executor.execute(&spec).await) });
        }
        let mut times = Vec::new();
        while let Some(finished) = under_way.join_next().await {
            let (draw, calls, raw) = finished
                .map_err(|error| SandboxError::Protocol(format!("a workflow task failed: {error}")))?;
            times.push((draw, time(&raw?, &calls)));
        }
        times.sort_by_key(|(draw, _)| *draw);
        let times: Vec<Time> = times.into_iter().map(|(_, time)| time).collect();
        Ok(WorkflowCell::of(&profile.scenario, steps, &times, None))
    }

    fn calls(
        &self,
        steps: &[String],
        profile: &Circumstances,
        draw: usize,
        constructors: &Constructors,
    ) -> Result<Vec<Call>, WorkflowError> {
        let call = |step: &String| {
            let target = self.targets.iter().find(|target| target.name() == *step);
            let target = target.ok_or_else(|| WorkflowError::NoSection(step.clone()))?;
            let refused = |reason: String| WorkflowError::NotCallable { section: step.clone(), reason };
            let described = match &target.described {
                Some(Described::Missing { missing }) => return Err(refused(missing.clone())),
                None => return Err(refused("not described by the harness".into())),
                Some(described) => described,
            };
            let made = |strategy: Strategy| {
                let purpose = [step.as_str(), strategy.name_of_chance(), &draw.to_string()];
                let mut random = Chance::new(self.seed, &purpose);
                let how = (strategy, profile.drift);
                stub(
                    &target.section,
                    described,
                    how,
                    (Source::Smart, draw, draw),
                    &mut random,
                    constructors,
                    self.owners,
                )
            };
            // A step without hostile input gets ordinary arguments.
            let stub = match made(profile.strategy).map_err(refused)? {
                Some(stub) => Some(stub),
                None => made(Strategy::Typical).map_err(refused)?,
            };
            let mut stub = stub.unwrap_or_default();
            // The outcome of the same arguments before they drift is in the row of the baseline.
            stub.is_doubtful &= stub.drifted == 0;
            Ok(Call::new(target, profile, stub, 0, self.timeout))
        };
        steps.iter().map(call).collect()
    }

    fn spec(&self, calls: &[Call], profile: &Circumstances, mode: Mode, draw: usize) -> CallSpec {
        let request = json!({
            "kind": "workflow",
            "steps": calls.iter().map(Call::request).collect::<Vec<Value>>(),
            "seed": draw,
            "off": mode == Mode::Off,
            "fixtures": self.fixtures,
            // With mock rules, the network itself refuses requests that match none.
            "safe_mode": self.safe_mode && self.network_mocks.is_none(),
        });
        let (world, needs_world) = self.world(calls, profile, draw);
        CallSpec::new(request)
            .timeout(profile.timeout(self.timeout))
            .limits(profile.limits)
            .world(world, needs_world)
    }
}

impl Simulation<'_> {
    /// The environment of all steps together: the mocked upstream has the fields that any of them reads.
    fn world(&self, calls: &[Call], profile: &Circumstances, draw: usize) -> (World, bool) {
        let Some(first) = calls.first() else { return (World::default(), false) };
        let reads = calls.iter().flat_map(|call| call.reads.iter().cloned()).collect();
        let mut world = world_of(&Call { reads, seed: draw as u64, ..first.clone() });
        let network = world.network.get_or_insert_default();
        match (&self.network_mocks, self.safe_mode) {
            (Some(mocks), is_safe) => {
                let disturbed = network.mocks.take().unwrap_or_default();
                let fallback = if is_safe { mocks.fallback } else { disturbed.fallback };
                // Faults come before responses.
                let rules = disturbed.rules.into_iter().chain(mocks.rules.iter().cloned()).collect();
                network.mocks =
                    Some(Mocks { rules, fallback, drift: disturbed.drift, fields: disturbed.fields });
            }
            (None, true) => world.network = None,
            (None, false) => {}
        }
        let needs_world = calls.iter().any(|call| call.needs_world) || profile.upstream.is_some();
        (world, needs_world)
    }
}

fn time(raw: &RawOutcome, calls: &[Call]) -> Time {
    let none = Vec::new();
    let answered = raw.returned.as_ref().and_then(|answer| answer["steps"].as_array()).unwrap_or(&none);
    let steps: Vec<StepSeen> = answered
        .iter()
        .zip(calls)
        .map(|(answer, call)| StepSeen {
            verdict: judge(&RawOutcome { returned: Some(answer.clone()), ..raw.clone() }, call),
            took_ms: answer["took_ms"].as_f64(),
            peak_bytes: answer["peak_bytes"].as_u64(),
        })
        .collect();
    // A fault that fired in one step counts for the whole workflow.
    let is_bad = |step: &&StepSeen| !matches!(step.verdict.kind, OutcomeKind::Ok | OutcomeKind::Void);
    let is_well = |step: &StepSeen| step.verdict.kind == OutcomeKind::Ok;
    let void = steps.first().filter(|_| !steps.iter().any(is_well));
    let verdict = match (steps.iter().find(is_bad).or(void), calls.first()) {
        // Without an answer, the process itself has ended.
        (None, Some(call)) if answered.is_empty() => judge(raw, call),
        (Some(step), _) => step.verdict.clone(),
        (None, _) => Verdict { kind: OutcomeKind::Ok, facts: None, reason: None, value: None },
    };
    Time {
        verdict,
        wall_ms: raw.wall_ms,
        cpu_ms: raw.usage.cpu_user_ms.zip(raw.usage.cpu_system_ms).map(|(user, system)| user + system),
        peak_bytes: raw.usage.peak_rss_bytes,
        steps,
    }
}
