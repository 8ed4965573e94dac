//! `menace workflows run`: each workflow, each step alone, and all workflows together.

use std::collections::BTreeMap;

use anyhow::Context;
use menace_analysis::map::ModuleMap;
use menace_model::inventory::SectionKind;
use menace_model::presets::Preset;
use menace_runner::WorkflowCell;
use serde::Serialize;

use crate::arguments::WorkflowsRunArguments;
use crate::calling::{open_store, runtime};
use crate::commands::exporters::record_synergy;
use crate::commands::map;
use crate::commands::reading::ScanPurpose;
use crate::commands::usage::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{StageSpinner, note, print, print_json};
use crate::tracking::with_history;

use super::laboratory::{WorkflowRunContext, steps_of};
use super::reports;
use super::synergy::{SynergyDifference, WorkflowMetricValues, WorkflowScenarioResults, difference, presets};

/// What all workflows together are called.
const ALL: &str = "all_workflows";
/// Steps of a workflow that is built from a group of modules.
const MOST_STEPS: usize = 12;

/// A workflow and what came of it.
#[derive(Debug, Serialize)]
pub(super) struct WorkflowRow {
    pub(super) workflow: String,
    pub(super) roi: Option<f64>,
    #[serde(flatten)]
    pub(super) cell: WorkflowCell,
    /// What its parts are together, compared with each alone.
    pub(super) synergy: WorkflowMetricValues,
    /// The same under each scenario.
    pub(super) scenario_synergy: BTreeMap<String, WorkflowMetricValues>,
}

impl WorkflowRow {
    fn new(
        laboratory: &WorkflowRunContext<'_>,
        name: &str,
        together: &WorkflowScenarioResults,
        difference: SynergyDifference,
    ) -> anyhow::Result<Self> {
        let cell = together.ordinary().context("nothing was made in ordinary circumstances")?.clone();
        Ok(Self {
            workflow: name.to_owned(),
            roi: laboratory.roi(&cell),
            cell,
            synergy: difference.overall,
            scenario_synergy: difference.scenarios,
        })
    }
}

pub(super) fn run(
    configuration: &Configuration,
    arguments: &WorkflowsRunArguments,
) -> anyhow::Result<MenaceExit> {
    let presets = presets(&arguments.scenarios);
    runtime()?.block_on(async {
        let laboratory =
            WorkflowRunContext::open(configuration, &arguments.common, ScanPurpose::ModuleMap).await?;
        let workflows = chosen(configuration, arguments, &laboratory).await?;
        let progress = StageSpinner::new();
        let (mut rows, mut each) = (Vec::new(), Vec::new());
        for (name, steps) in &workflows {
            let (row, made) = row(&laboratory, name, steps, &presets, &progress).await?;
            rows.push(row);
            each.push(made);
        }
        if workflows.len() > 1 {
            progress.show_message(ALL);
            rows.push(all_together(&laboratory, &workflows, &each, &presets).await?);
        }
        drop(progress);
        note_synergy(configuration, &laboratory, &rows).await?;
        if arguments.common.output.json {
            print_json(&serde_json::json!({"version": 1, "seed": arguments.common.seed, "workflows": rows}))?;
        } else {
            print(&reports::workflows(&rows))?;
        }
        let fails = rows.iter().any(|row| row.cell.robustness.is_some_and(|robustness| robustness < 1.0));
        Ok(if fails { MenaceExit::Found } else { MenaceExit::Done })
    })
}

/// Keeps the synergy of the largest workflow that was made: of all together, if there are several.
async fn note_synergy(
    configuration: &Configuration,
    laboratory: &WorkflowRunContext<'_>,
    rows: &[WorkflowRow],
) -> anyhow::Result<()> {
    let Some(row) = rows.last().filter(|row| !row.synergy.is_empty()) else { return Ok(()) };
    let directory = configuration.data_directory();
    let measured = with_history(&directory, &laboratory.scan.inventory.root, |history| {
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
    configuration: &Configuration,
    arguments: &WorkflowsRunArguments,
    laboratory: &WorkflowRunContext<'_>,
) -> anyhow::Result<Vec<(String, Vec<String>)>> {
    if arguments.dynamic_workflows {
        return Ok(dynamic(laboratory));
    }
    if let Some(workflow) = &arguments.workflow {
        return Ok(vec![steps_of(configuration, workflow).await?]);
    }
    let store = open_store(configuration).await?;
    let stored = store.workflows().await?;
    if stored.is_empty() {
        note("no workflow is stored: they are built from the groups of modules");
        let made = dynamic(laboratory);
        return if made.is_empty() { Err(UsageError::NoWorkflows.into()) } else { Ok(made) };
    }
    Ok(stored.into_iter().map(|workflow| (workflow.name, workflow.steps)).collect())
}

/// A workflow for each group of modules: their public functions that can be called, in the order of the modules.
fn dynamic(laboratory: &WorkflowRunContext<'_>) -> Vec<(String, Vec<String>)> {
    let map: ModuleMap = map::build(&laboratory.scan, &map::default_options());
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, group) in &map.modules {
        let functions = laboratory.targets.iter().filter(|target| {
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
        steps.truncate(MOST_STEPS);
    }
    groups.into_iter().collect()
}

/// A workflow, and what was seen of it beside its row: all workflows together are compared with it.
async fn row(
    laboratory: &WorkflowRunContext<'_>,
    name: &str,
    steps: &[String],
    presets: &[Preset],
    progress: &StageSpinner,
) -> anyhow::Result<(WorkflowRow, WorkflowScenarioResults)> {
    progress.show_message(name);
    let together = WorkflowScenarioResults::of(laboratory, steps, presets).await?;
    let mut alone = Vec::new();
    if steps.len() > 1 {
        for step in steps {
            progress.show_message(&format!("{name}: {step} alone"));
            alone.push(WorkflowScenarioResults::of(laboratory, std::slice::from_ref(step), presets).await?);
        }
    }
    let row = WorkflowRow::new(laboratory, name, &together, difference(laboratory, &together, &alone))?;
    Ok((row, together))
}

async fn all_together(
    laboratory: &WorkflowRunContext<'_>,
    workflows: &[(String, Vec<String>)],
    alone: &[WorkflowScenarioResults],
    presets: &[Preset],
) -> anyhow::Result<WorkflowRow> {
    let steps: Vec<String> = workflows.iter().flat_map(|(_, steps)| steps.iter().cloned()).collect();
    let together = WorkflowScenarioResults::of(laboratory, &steps, presets).await?;
    WorkflowRow::new(laboratory, ALL, &together, difference(laboratory, &together, alone))
}
