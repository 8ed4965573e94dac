//! `menace workflows run`: each workflow, each step alone, and all workflows together.

use std::collections::BTreeMap;

use menace_analysis::map::ModuleMap;
use menace_model::inventory::SectionKind;
use menace_model::presets::Preset;
use menace_runner::{Circumstances, Counts, Mode, WorkflowCell};
use menace_tracker::{robustness_synergy, synergy};
use serde::Serialize;

use crate::arguments::WorkflowsRun;
use crate::calling::{open_store, runtime};
use crate::commands::map;
use crate::commands::reading::Purpose;
use crate::commands::usage::UsageError;
use crate::configuration::Configuration;
use crate::exit::Exit;
use crate::terminal::{note, print, print_json};
use crate::tracking::with_history;

use super::laboratory::{Laboratory, steps_of};
use super::reports;

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
    pub(super) synergy: BTreeMap<&'static str, Option<f64>>,
}

pub(super) fn run(configuration: &Configuration, arguments: &WorkflowsRun) -> anyhow::Result<Exit> {
    runtime()?.block_on(async {
        let laboratory = Laboratory::open(configuration, &arguments.common, Purpose::ModuleMap).await?;
        let workflows = chosen(configuration, arguments, &laboratory).await?;
        let mut rows = Vec::new();
        for (name, steps) in &workflows {
            rows.push(row(&laboratory, name, steps).await?);
        }
        if workflows.len() > 1 {
            rows.push(all_together(&laboratory, &workflows, &rows).await?);
        }
        note_synergy(configuration, &laboratory, &rows)?;
        if arguments.common.output.json {
            print_json(&serde_json::json!({"version": 1, "seed": arguments.common.seed, "workflows": rows}))?;
        } else {
            print(&reports::workflows(&rows))?;
        }
        let fails = rows.iter().any(|row| row.cell.robustness.is_some_and(|robustness| robustness < 1.0));
        Ok(if fails { Exit::Found } else { Exit::Done })
    })
}

/// Keeps the synergy of the largest workflow that was made: of all together, if there are several.
fn note_synergy(
    configuration: &Configuration,
    laboratory: &Laboratory<'_>,
    rows: &[WorkflowRow],
) -> anyhow::Result<()> {
    let Some(row) = rows.last() else { return Ok(()) };
    let measured: BTreeMap<String, f64> =
        row.synergy.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?))).collect();
    if measured.is_empty() {
        return Ok(());
    }
    let directory = configuration.data_directory();
    with_history(&directory, &laboratory.scan.inventory.root, |history| {
        history.add_synergy(Some(&row.cell.scenario), measured);
        Ok(())
    })
}

async fn chosen(
    configuration: &Configuration,
    arguments: &WorkflowsRun,
    laboratory: &Laboratory<'_>,
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
fn dynamic(laboratory: &Laboratory<'_>) -> Vec<(String, Vec<String>)> {
    let map: ModuleMap = map::build(&laboratory.scan, &map::default_options());
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, group) in &map.modules {
        let functions = laboratory.targets.iter().filter(|target| {
            let is_public =
                !target.section.name.starts_with('_') && target.section.kind == SectionKind::Function;
            let is_callable =
                matches!(&target.described, Some(menace_model::calls::Described::Callable { .. }));
            target.path == *path && is_public && is_callable
        });
        groups
            .entry(format!("group_{group}"))
            .or_default()
            .extend(functions.map(menace_runner::Target::name));
    }
    groups.retain(|_, steps| !steps.is_empty());
    for steps in groups.values_mut() {
        steps.truncate(MOST_STEPS);
    }
    groups.into_iter().collect()
}

async fn row(laboratory: &Laboratory<'_>, name: &str, steps: &[String]) -> anyhow::Result<WorkflowRow> {
    let normal = Circumstances::of(&Preset::named("normal"), Counts::default());
    let cell = laboratory.cell(steps, &normal, Mode::On).await?;
    let mut alone = Vec::new();
    if steps.len() > 1 {
        for step in steps {
            alone.push(laboratory.cell(std::slice::from_ref(step), &normal, Mode::On).await?);
        }
    }
    Ok(WorkflowRow {
        workflow: name.to_owned(),
        roi: laboratory.roi(&cell),
        synergy: compared(laboratory, &cell, &alone.iter().collect::<Vec<_>>()),
        cell,
    })
}

async fn all_together(
    laboratory: &Laboratory<'_>,
    workflows: &[(String, Vec<String>)],
    rows: &[WorkflowRow],
) -> anyhow::Result<WorkflowRow> {
    let steps: Vec<String> = workflows.iter().flat_map(|(_, steps)| steps.iter().cloned()).collect();
    let normal = Circumstances::of(&Preset::named("normal"), Counts::default());
    let cell = laboratory.cell(&steps, &normal, Mode::On).await?;
    let alone: Vec<&WorkflowCell> = rows.iter().map(|row| &row.cell).collect();
    Ok(WorkflowRow {
        workflow: ALL.to_owned(),
        roi: laboratory.roi(&cell),
        synergy: compared(laboratory, &cell, &alone),
        cell,
    })
}

fn compared(
    laboratory: &Laboratory<'_>,
    together: &WorkflowCell,
    alone: &[&WorkflowCell],
) -> BTreeMap<&'static str, Option<f64>> {
    if alone.is_empty() {
        return BTreeMap::new();
    }
    let of = |metric: &dyn Fn(&WorkflowCell) -> Option<f64>| -> Vec<Option<f64>> {
        alone.iter().map(|cell| metric(cell)).collect()
    };
    let each = |value: Option<f64>, cell: &WorkflowCell| value.map(|value| value / cell.n.max(1) as f64);
    let watts = laboratory.watts;
    let energy = move |cell: &WorkflowCell| each(cell.cpu_seconds, cell).map(|seconds| seconds * watts);
    let value = laboratory.prices.value_per_call;
    let revenue =
        move |cell: &WorkflowCell| each(Some(cell.ended_well() as f64), cell).map(|share| share * value);
    let throughput = |cell: &WorkflowCell| Some(1e3 / cell.wall_ms.filter(|wall| *wall > 0.0)?);
    BTreeMap::from([
        ("synergy_profitability", synergy(laboratory.roi(together), &of(&|cell| laboratory.roi(cell)))),
        ("synergy_energy_consumption", synergy(energy(together), &of(&energy))),
        ("synergy_revenue", synergy(revenue(together), &of(&revenue))),
        ("synergy_throughput", synergy(throughput(together), &of(&throughput))),
        ("synergy_roi", synergy(laboratory.roi(together), &of(&|cell| laboratory.roi(cell)))),
        ("synergy_reliability", robustness_synergy(together.robustness, &of(&|cell| cell.robustness))),
    ])
}
