//! `menace workflows impact`: what a change of one workflow does to others.

use std::collections::{BTreeMap, BTreeSet};

use menace_tracker::workflows::{WorkflowGraph, WorkflowImpact};
use serde_json::json;

use crate::arguments::WorkflowsImpactArguments;
use crate::calling::{open_store, runtime};
use crate::commands::reading::{ScanPurpose, read_repository};
use crate::commands::usage::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, print, print_json};

pub(super) fn run(
    configuration: &Configuration,
    arguments: &WorkflowsImpactArguments,
) -> anyhow::Result<MenaceExit> {
    let scan = read_repository(configuration, &arguments.repository, ScanPurpose::Inventory)?;
    let stored = runtime()?.block_on(async { open_store(configuration).await?.workflows().await })?;
    let module = |step: &String| step.split(':').next().unwrap_or_default().to_owned();
    let workflows: Vec<(String, BTreeSet<String>)> = stored
        .iter()
        .map(|workflow| (workflow.name.clone(), workflow.steps.iter().map(module).collect()))
        .collect();
    let imports: BTreeMap<String, BTreeSet<String>> = scan
        .inventory
        .modules
        .iter()
        .map(|module| (module.name.clone(), module.imports.iter().cloned().collect()))
        .collect();
    let graph = WorkflowGraph::new(&workflows, &imports);
    let wave = graph
        .simulate_impact_wave(&arguments.workflow, arguments.roi, arguments.synergy)
        .map_err(|error| UsageError::Tracking(error.to_string()))?;
    if arguments.output.json {
        print_json(&json!({"version": 1, "workflow": arguments.workflow, "impact": wave}))?;
        return Ok(MenaceExit::Done);
    }
    let mut rows: Vec<(&String, &WorkflowImpact)> = wave.iter().collect();
    rows.sort_by(|a, b| {
        a.1.distance.cmp(&b.1.distance).then_with(|| b.1.roi.abs().total_cmp(&a.1.roi.abs()))
    });
    let mut table = TextTable::new(&[
        ("workflow", ColumnAlignment::Left),
        ("ROI", ColumnAlignment::Right),
        ("synergy", ColumnAlignment::Right),
        ("distance", ColumnAlignment::Right),
    ]);
    for (name, impact) in rows {
        table.row([
            name.clone().into(),
            format!("{:+.3}", impact.roi).into(),
            format!("{:+.3}", impact.synergy).into(),
            impact.distance.to_string().into(),
        ]);
    }
    print(&table.text())?;
    Ok(MenaceExit::Done)
}
