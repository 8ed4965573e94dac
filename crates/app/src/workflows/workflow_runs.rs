//! Runs of workflows: each workflow, each of its steps alone, and all workflows together.

use std::collections::BTreeMap;

use menace_analysis::map::ModuleMap;
use menace_model::inventory::SectionKind;
use menace_model::presets::Preset;
use menace_runner::WorkflowCell;
use serde::Serialize;

use crate::calling::open_store;
use crate::module_map;
use crate::repository::ScanPurpose;
use crate::synergy::record_synergy;
use crate::tracking::with_history;

use super::WorkflowsRequest;
use super::run_context::{WorkflowRunContext, steps_of};
use super::synergy::{SynergyDifference, WorkflowMetricValues, WorkflowScenarioResults, difference, presets};
use crate::{AppContext, AppError, AppEvent, RequestError};

/// Name of all workflows together.
const ALL: &str = "all_workflows";
/// Maximum number of steps of a workflow that is built from a group of modules.
const MAX_STEPS: usize = 12;

/// Result of a workflow.
#[derive(Debug, Serialize)]
pub struct WorkflowRow {
    /// Name of the workflow.
    pub workflow: String,
    /// Its ROI.
    pub roi: Option<f64>,
    /// Its cell without stress.
    #[serde(flatten)]
    pub cell: WorkflowCell,
    /// Synergy of its parts.
    pub synergy: WorkflowMetricValues,
    /// Synergy under each scenario.
    pub scenario_synergy: BTreeMap<String, WorkflowMetricValues>,
}

impl WorkflowRow {
    fn new(
        run_context: &WorkflowRunContext<'_>,
        name: &str,
        together: &WorkflowScenarioResults,
        difference: SynergyDifference,
    ) -> Self {
        let cell = together.ordinary().expect("the first preset is the normal one").clone();
        Self {
            workflow: name.to_owned(),
            roi: run_context.roi(&cell),
            cell,
            synergy: difference.overall,
            scenario_synergy: difference.scenarios,
        }
    }
}

/// Runs workflows, their steps alone, and all workflows together; records the synergy of the largest.
pub async fn run(context: &AppContext, request: &WorkflowsRequest) -> Result<Vec<WorkflowRow>, AppError> {
    let presets = presets(&request.scenarios);
    let run_context = WorkflowRunContext::open(context, &request.common, ScanPurpose::ModuleMap).await?;
    let workflows = chosen(context, request, &run_context).await?;
    let (mut rows, mut each) = (Vec::new(), Vec::new());
    for (name, steps) in &workflows {
        let (row, made) = row(context, &run_context, name, steps, &presets).await?;
        rows.push(row);
        each.push(made);
    }
    if workflows.len() > 1 {
        started(context, ALL, None);
        rows.push(all_together(&run_context, &workflows, &each, &presets).await?);
    }
    record_workflow_synergy(context, &run_context, &rows).await?;
    Ok(rows)
}

fn started(context: &AppContext, workflow: &str, step: Option<&str>) {
    context.emit(AppEvent::WorkflowStarted { workflow: workflow.to_owned(), step: step.map(str::to_owned) });
}

/// Records the synergy of the largest workflow: of all workflows together, if there are several.
async fn record_workflow_synergy(
    context: &AppContext,
    run_context: &WorkflowRunContext<'_>,
    rows: &[WorkflowRow],
) -> Result<(), AppError> {
    let Some(row) = rows.last().filter(|row| !row.synergy.is_empty()) else { return Ok(()) };
    let directory = context.data_directory();
    let measured = with_history(&directory, &run_context.scan.inventory.root, |history| {
        let next = history.forecast_next("synergy_profitability", &[]);
        let lucrativity = next.and_then(|next| Some(next.steps.first()?.value));
        let mut overall = row.synergy.clone();
        overall.extend(lucrativity.map(|value| ("synergy_projected_lucrativity".to_owned(), value)));
        history.add_synergy(overall.clone(), row.scenario_synergy.clone());
        Ok(overall)
    })?;
    record_synergy(&directory, &measured).await
}

async fn chosen(
    context: &AppContext,
    request: &WorkflowsRequest,
    run_context: &WorkflowRunContext<'_>,
) -> Result<Vec<(String, Vec<String>)>, AppError> {
    if request.dynamic_workflows {
        return Ok(dynamic(run_context));
    }
    if let Some(workflow) = &request.workflow {
        return Ok(vec![steps_of(context, workflow).await?]);
    }
    let store = open_store(context).await?;
    let stored = store.workflows().await?;
    if stored.is_empty() {
        context.emit(AppEvent::WorkflowsFromGroups);
        let made = dynamic(run_context);
        return if made.is_empty() { Err(RequestError::NoWorkflows.into()) } else { Ok(made) };
    }
    Ok(stored.into_iter().map(|workflow| (workflow.name, workflow.steps)).collect())
}

/// Workflows from the module groups: the callable public functions of each group, in the order of the modules.
fn dynamic(run_context: &WorkflowRunContext<'_>) -> Vec<(String, Vec<String>)> {
    let map: ModuleMap = module_map::build(&run_context.scan, &module_map::default_options());
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, group) in &map.modules {
        let functions = run_context.targets.iter().filter(|target| {
            let is_public =
                !target.section.name.starts_with('_') && target.section.kind == SectionKind::Function;
            let is_callable =
                matches!(&target.described, Some(menace_model::calls::SectionDescription::Callable { .. }));
            target.path == *path && is_public && is_callable
        });
        groups
            .entry(format!("group_{group}"))
            .or_default()
            .extend(functions.map(menace_runner::CallableSection::name));
    }
    groups.retain(|_, steps| !steps.is_empty());
    for steps in groups.values_mut() {
        steps.truncate(MAX_STEPS);
    }
    groups.into_iter().collect()
}

/// Runs a workflow. Returns its row, and its results for the comparison with all workflows together.
async fn row(
    context: &AppContext,
    run_context: &WorkflowRunContext<'_>,
    name: &str,
    steps: &[String],
    presets: &[Preset],
) -> Result<(WorkflowRow, WorkflowScenarioResults), AppError> {
    started(context, name, None);
    let together = WorkflowScenarioResults::of(run_context, steps, presets).await?;
    let mut alone = Vec::new();
    if steps.len() > 1 {
        for step in steps {
            started(context, name, Some(step));
            alone.push(WorkflowScenarioResults::of(run_context, std::slice::from_ref(step), presets).await?);
        }
    }
    let row = WorkflowRow::new(run_context, name, &together, difference(run_context, &together, &alone));
    Ok((row, together))
}

async fn all_together(
    run_context: &WorkflowRunContext<'_>,
    workflows: &[(String, Vec<String>)],
    alone: &[WorkflowScenarioResults],
    presets: &[Preset],
) -> Result<WorkflowRow, AppError> {
    let steps: Vec<String> = workflows.iter().flat_map(|(_, steps)| steps.iter().cloned()).collect();
    let together = WorkflowScenarioResults::of(run_context, &steps, presets).await?;
    Ok(WorkflowRow::new(run_context, ALL, &together, difference(run_context, &together, alone)))
}
