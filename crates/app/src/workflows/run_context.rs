//! Context for running workflows of a repository.

use menace_analysis::scan::RepositoryScan;
use menace_model::network::MockSpec;
use menace_runner::{
    CallableSection, ObjectRecipes, StressProfile, WorkflowCell, WorkflowError, WorkflowFixtures,
    WorkflowMode, WorkflowSimulation, callable_sections, describe, find_object_recipes,
};
use menace_tracker::roi::RoiProfile;
use menace_tracker::{CallResourceUsage, ResourcePrices};

use super::WorkflowRequest;
use crate::calling::{RepositoryExecutor, choose_interpreter, open_store};
use crate::error::FileContext;
use crate::mock_rules::read_mocks;
use crate::repository::{ScanPurpose, ScanRequest, read_repository};
use crate::tracking::RoiScoringRules;
use crate::{AppContext, AppError, RequestError};

pub(super) struct WorkflowRunContext<'a> {
    pub(super) scan: RepositoryScan,
    pub(super) targets: Vec<CallableSection>,
    pub(super) prices: ResourcePrices,
    /// Weights of the ROI.
    pub(super) profile: RoiProfile,
    /// Power of one core in watts.
    pub(super) watts: f64,
    calling: RepositoryExecutor,
    owners: ObjectRecipes,
    fixtures: WorkflowFixtures,
    network_mocks: Option<MockSpec>,
    options: &'a WorkflowRequest,
}

impl<'a> WorkflowRunContext<'a> {
    pub(super) async fn open(
        context: &AppContext,
        options: &'a WorkflowRequest,
        purpose: ScanPurpose,
    ) -> Result<Self, AppError> {
        let fixtures = fixtures(options)?;
        let network_mocks = options.network_mocks.as_deref().map(read_mocks).transpose()?;
        let repository = ScanRequest { path: options.repository.clone(), ..ScanRequest::default() };
        let scan = read_repository(context, &repository, purpose)?;
        let root = std::path::Path::new(&scan.inventory.root);
        let python = choose_interpreter(context, root, options.python.as_deref());
        let calling = RepositoryExecutor::of(&scan.inventory, &python, &[]).await?;
        let mut all = callable_sections(&scan.inventory, &[]);
        describe(&calling.executor, &mut all).await?;
        let owners = find_object_recipes(&calling.executor, &all, options.seed).await?;
        let settings = &context.settings().roi;
        let prices = ResourcePrices {
            value_per_call: settings.value_per_call,
            per_cpu_second: settings.price_per_cpu_second,
            per_gb_second: settings.price_per_gb_second,
        };
        let watts = context.settings().metrics.watts_per_core.get();
        let profile = RoiScoringRules::read(context, root)?.profile;
        Ok(Self {
            targets: all,
            prices,
            profile,
            watts,
            calling,
            owners,
            fixtures,
            network_mocks,
            options,
            scan,
        })
    }

    /// Runs a workflow under a stress profile.
    pub(super) async fn cell(
        &self,
        steps: &[String],
        stress: &StressProfile,
        mode: WorkflowMode,
    ) -> Result<WorkflowCell, WorkflowError> {
        let simulation = WorkflowSimulation {
            executor: &self.calling.executor,
            targets: &self.targets,
            owners: &self.owners,
            seed: self.options.seed,
            times: self.options.times.max(1),
            timeout: self.options.timeout,
            fixtures: &self.fixtures,
            safe_mode: self.options.safe_mode,
            network_mocks: self.network_mocks.clone(),
        };
        simulation.cell(steps, stress, mode).await
    }

    /// ROI of a cell: the profitability of its calls.
    pub(super) fn roi(&self, cell: &WorkflowCell) -> Option<f64> {
        self.profitability(cell, cell.ended_well())
    }

    /// ROI of a cell whose steps are disabled: costs without revenue.
    pub(super) fn roi_without_steps(&self, cell: &WorkflowCell) -> Option<f64> {
        self.profitability(cell, 0)
    }

    /// Profitability; `None` if a cost could not be measured.
    fn profitability(&self, cell: &WorkflowCell, ended_well: usize) -> Option<f64> {
        self.prices.profitability(&CallResourceUsage {
            calls: cell.n,
            ended_well,
            cpu_seconds: cell.cpu_seconds?,
            gb_seconds: cell.gb_seconds?,
        })
    }
}

fn fixtures(options: &WorkflowRequest) -> Result<WorkflowFixtures, AppError> {
    let mut fixtures = match &options.fixtures {
        None => WorkflowFixtures::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path).file("read", path)?;
            serde_json::from_str(&text)
                .map_err(|error| RequestError::Fixtures { path: path.clone(), problem: error.to_string() })?
        }
    };
    for (name, content) in &options.files {
        fixtures.file(name, content);
    }
    for (name, value) in &options.variables {
        fixtures.variable(name, value);
    }
    Ok(fixtures)
}

/// Name and steps of a workflow: a stored one, or `module:function,module:function`.
pub(super) async fn steps_of(
    context: &AppContext,
    workflow: &str,
) -> Result<(String, Vec<String>), AppError> {
    if workflow.contains(':') {
        return Ok((workflow.to_owned(), workflow.split(',').map(|step| step.trim().to_owned()).collect()));
    }
    let store = open_store(context).await?;
    let stored = store.workflow(workflow).await?;
    Ok((stored.name, stored.steps))
}
