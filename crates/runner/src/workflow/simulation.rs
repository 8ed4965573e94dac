//! Simulation of a workflow: executes it many times, with its steps (on) or with no-ops in their place (off).

use std::sync::Arc;
use std::time::Duration;

use menace_model::calls::{CallEnvironment, CallSpec, OutcomeKind, RawOutcome, SectionDescription};
use menace_model::harness::{HarnessReply, HarnessRequest, StagedReply, WorkflowFixtures, WorkflowRequest};
use menace_model::network::MockSpec;
use menace_model::{ErrorClass, ErrorDetails};
use menace_sandbox::SandboxError;
use thiserror::Error;

use super::cell::{StepOutcome, WorkflowCell, WorkflowExecution};
use crate::call::Call;
use crate::call_environment::call_environment;
use crate::callable_section::CallableSection;
use crate::classify::classify;
use crate::executor::CallExecutor;
use crate::object_recipes::ObjectRecipes;
use crate::outcome::CallClassification;
use crate::random_stream::RandomStream;
use crate::scheduler::{UNLIMITED, run_all};
use crate::stress::StressProfile;
use crate::stubs::{ArgumentSource, ConstructorSections, InputStrategy, stub};

/// Whether the steps are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowMode {
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
    #[error("no section {0} in the repository")]
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

impl ErrorDetails for WorkflowError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Sandbox(error) => error.class(),
            Self::NoSection(_) => ErrorClass::NotFound,
            Self::NotCallable { .. } => ErrorClass::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Sandbox(error) => error.hint(),
            Self::NoSection(_) => Some("list sections as module:qualname with 'menace scan --json'".into()),
            Self::NotCallable { .. } => None,
        }
    }
}

/// Inputs of workflow simulations.
pub struct WorkflowSimulation<'a> {
    /// Executor of the calls.
    pub executor: &'a Arc<dyn CallExecutor>,
    /// All sections of the repository, described.
    pub targets: &'a [CallableSection],
    /// Recipes of objects that could be constructed.
    pub owners: &'a ObjectRecipes,
    /// Seed of every random choice.
    pub seed: u64,
    /// Number of executions in each cell.
    pub times: usize,
    /// Timeout of one execution.
    pub timeout: Duration,
    /// Files and environment variables of the steps.
    pub fixtures: &'a WorkflowFixtures,
    /// Refuse network access, unless a mock rule answers it.
    pub safe_mode: bool,
    /// Mock rules that take precedence over plausible responses.
    pub network_mocks: Option<MockSpec>,
}

impl WorkflowSimulation<'_> {
    /// Executes a workflow under a stress profile.
    pub async fn cell(
        &self,
        steps: &[String],
        profile: &StressProfile,
        mode: WorkflowMode,
    ) -> Result<WorkflowCell, WorkflowError> {
        let constructors = ConstructorSections::of(self.targets);
        let prepared: Vec<(Vec<Call>, CallSpec)> = (0..self.times)
            .map(|draw| {
                let calls = self.calls(steps, profile, draw, &constructors)?;
                let spec = self.spec(&calls, profile, mode, draw);
                Ok((calls, spec))
            })
            .collect::<Result<_, WorkflowError>>()?;
        let jobs = prepared.into_iter().map(|(calls, spec)| {
            let executor = Arc::clone(self.executor);
            async move { Ok::<_, SandboxError>(workflow_execution(&executor.execute(&spec).await?, &calls)) }
        });
        let times = run_all(UNLIMITED, jobs, || {}).await?;
        Ok(WorkflowCell::of(&profile.scenario, steps, &times, None))
    }

    fn calls(
        &self,
        steps: &[String],
        profile: &StressProfile,
        draw: usize,
        constructors: &ConstructorSections,
    ) -> Result<Vec<Call>, WorkflowError> {
        let call = |step: &String| {
            let target = self.targets.iter().find(|target| target.name() == *step);
            let target = target.ok_or_else(|| WorkflowError::NoSection(step.clone()))?;
            let refused = |reason: String| WorkflowError::NotCallable { section: step.clone(), reason };
            let described = match &target.described {
                Some(SectionDescription::Missing { missing }) => return Err(refused(missing.clone())),
                None => return Err(refused("not described by the harness".into())),
                Some(described) => described,
            };
            let made = |strategy: InputStrategy| {
                let purpose = [step.as_str(), strategy.random_stream_name(), &draw.to_string()];
                let mut random = RandomStream::new(self.seed, &purpose);
                let how = (strategy, profile.drift);
                stub(
                    &target.section,
                    described,
                    how,
                    (ArgumentSource::Smart, draw, draw),
                    &mut random,
                    constructors,
                    self.owners,
                )
            };
            // A step without hostile input gets ordinary arguments.
            let stub = match made(profile.strategy).map_err(refused)? {
                Some(stub) => Some(stub),
                None => made(InputStrategy::Typical).map_err(refused)?,
            };
            let mut stub = stub.unwrap_or_default();
            // The outcome of the same arguments before they drift is in the row of the baseline.
            stub.is_doubtful &= stub.drifted == 0;
            Ok(Call::new(target, profile, stub, 0, self.timeout))
        };
        steps.iter().map(call).collect()
    }

    fn spec(&self, calls: &[Call], profile: &StressProfile, mode: WorkflowMode, draw: usize) -> CallSpec {
        let request = WorkflowRequest {
            steps: calls.iter().map(Call::request).collect(),
            seed: draw as u64,
            off: mode == WorkflowMode::Off,
            fixtures: self.fixtures.clone(),
            // With mock rules, the network itself refuses requests that match none.
            safe_mode: self.safe_mode && self.network_mocks.is_none(),
        };
        let (world, needs_world) = self.workflow_environment(calls, profile, draw);
        CallSpec::new(HarnessRequest::Workflow(request))
            .timeout(profile.timeout(self.timeout))
            .limits(profile.limits)
            .environment(world, needs_world)
    }
}

impl WorkflowSimulation<'_> {
    /// The environment of all steps together: the mocked upstream has the fields that any of them reads.
    fn workflow_environment(
        &self,
        calls: &[Call],
        profile: &StressProfile,
        draw: usize,
    ) -> (CallEnvironment, bool) {
        let Some(first) = calls.first() else { return (CallEnvironment::default(), false) };
        let reads = calls.iter().flat_map(|call| call.reads.iter().cloned()).collect();
        let mut world = call_environment(&Call { reads, seed: draw as u64, ..first.clone() });
        let network = world.network.get_or_insert_default();
        match (&self.network_mocks, self.safe_mode) {
            (Some(mocks), is_safe) => {
                let disturbed = network.mocks.take().unwrap_or_default();
                let fallback = if is_safe { mocks.fallback } else { disturbed.fallback };
                // Faults come before responses.
                let rules = disturbed.rules.into_iter().chain(mocks.rules.iter().cloned()).collect();
                network.mocks =
                    Some(MockSpec { rules, fallback, drift: disturbed.drift, fields: disturbed.fields });
            }
            (None, true) => world.network = None,
            (None, false) => {}
        }
        let needs_world = calls.iter().any(|call| call.needs_world) || profile.upstream.is_some();
        (world, needs_world)
    }
}

fn workflow_execution(raw: &RawOutcome, calls: &[Call]) -> WorkflowExecution {
    let answered = match &raw.reply {
        Some(HarnessReply::Workflow(StagedReply::Done(reply))) => &reply.steps[..],
        _ => &[],
    };
    let steps: Vec<StepOutcome> = answered
        .iter()
        .zip(calls)
        .map(|(reply, call)| StepOutcome {
            verdict: classify(
                &RawOutcome { reply: Some(HarnessReply::Call(reply.clone())), ..raw.clone() },
                call,
            ),
            took_ms: reply.took_ms,
            peak_bytes: reply.peak_bytes,
        })
        .collect();
    // A fault that fired in one step counts for the whole workflow.
    let is_bad = |step: &&StepOutcome| !matches!(step.verdict.kind, OutcomeKind::Ok | OutcomeKind::Void);
    let is_well = |step: &StepOutcome| step.verdict.kind == OutcomeKind::Ok;
    let void = steps.first().filter(|_| !steps.iter().any(is_well));
    let verdict = match (steps.iter().find(is_bad).or(void), calls.first()) {
        // Without an answer, the process itself has ended.
        (None, Some(call)) if answered.is_empty() => classify(raw, call),
        (Some(step), _) => step.verdict.clone(),
        (None, _) => CallClassification { kind: OutcomeKind::Ok, facts: None, reason: None, value: None },
    };
    WorkflowExecution {
        verdict,
        wall_ms: raw.wall_ms,
        cpu_ms: raw.usage.cpu_user_ms.zip(raw.usage.cpu_system_ms).map(|(user, system)| user + system),
        peak_bytes: raw.usage.peak_rss_bytes,
        steps,
    }
}
