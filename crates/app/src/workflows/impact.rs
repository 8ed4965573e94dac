//! The impact of a change of one workflow on the others.

use std::collections::{BTreeMap, BTreeSet};

use menace_tracker::workflows::{WorkflowGraph, WorkflowImpact};

use crate::calling::open_store;
use crate::repository::{ScanPurpose, ScanRequest, read_repository};
use crate::{AppContext, AppError};

/// A change of a workflow.
#[derive(Debug, Clone)]
pub struct WorkflowImpactRequest {
    /// Name of the workflow.
    pub workflow: String,
    /// The repository.
    pub repository: ScanRequest,
    /// Change of its ROI.
    pub roi: f64,
    /// Change of its synergy.
    pub synergy: f64,
}

/// Estimates the impact on every workflow that shares or imports its modules, by name.
pub async fn impact(
    context: &AppContext,
    request: &WorkflowImpactRequest,
) -> Result<BTreeMap<String, WorkflowImpact>, AppError> {
    let scan = read_repository(context, &request.repository, ScanPurpose::Inventory)?;
    let stored = open_store(context).await?.workflows().await?;
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
    Ok(graph.simulate_impact_wave(&request.workflow, request.roi, request.synergy)?)
}
