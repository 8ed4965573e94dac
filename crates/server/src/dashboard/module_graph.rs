//! Module graph: imports, groups, orphans and the risk of each module.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use menace_model::inventory::{Inventory, PythonModule};
use menace_tracker::history::RoiHistory;
use serde_json::{Value, json};

use super::state::{DashboardState, ScannedRepository, unavailable};
use crate::error::ApiError;

/// Modules of the current repository.
pub(super) async fn modules(State(place): State<Arc<DashboardState>>) -> Result<Json<Value>, ApiError> {
    // Without a history there is no ROI; an unreadable history is an error.
    let history = if place.has_history() { Some(place.history().await?) } else { None };
    let named = history.as_ref().and_then(|history| history.repository.clone());
    let root = match named {
        Some(root) => root,
        None => last_repository(&place).await?,
    };
    let (reading, path) = (Arc::clone(&place.sources.reading), PathBuf::from(&root));
    let read = tokio::task::spawn_blocking(move || reading(&path)).await;
    let read = read.map_err(|error| ApiError::internal(error.to_string()))?;
    let repository =
        read.map_err(|problem| unavailable("no_repository", format!("failed to scan {root}: {problem}")))?;
    Ok(Json(shown(&repository, &history.unwrap_or_default())))
}

async fn last_repository(place: &DashboardState) -> Result<String, ApiError> {
    let last = place.store().await?.runs(1).await?.pop();
    last.map(|run| run.repository).ok_or_else(|| unavailable("no_runs", "no runs yet"))
}

/// Modules as nodes, imports as pairs of node numbers.
fn shown(repository: &ScannedRepository, history: &RoiHistory) -> Value {
    let ScannedRepository { inventory, groups } = repository;
    let numbers: BTreeMap<&str, usize> =
        inventory.modules.iter().enumerate().map(|(number, module)| (module.name.as_str(), number)).collect();
    let group_of: BTreeMap<&str, usize> = groups
        .iter()
        .enumerate()
        .flat_map(|(number, (_, paths))| paths.iter().map(move |path| (path.as_str(), number)))
        .collect();
    let orphans: BTreeMap<&str, Value> = inventory
        .orphans
        .iter()
        .map(|orphan| (orphan.path.as_str(), json!({"class": orphan.class, "reason": orphan.reason})))
        .collect();
    let node = |module: &PythonModule| {
        let measured = history.modules.get(&module.path);
        let risk = measured.and_then(|measured| last(measured.metrics.get("risk_index")?));
        json!({
            "path": module.path,
            "name": module.name,
            "group": group_of.get(module.path.as_str()),
            "orphan": orphans.get(module.path.as_str()),
            "lines": module.lines.total,
            "sections": module.sections.len(),
            "maintainability": module.maintainability,
            "findings": module.findings.len(),
            "roi": measured.and_then(|measured| measured.levels.last()),
            // Includes robustness if a cycle measured it; otherwise based on the static analysis alone.
            "risk": risk.or(module.risk.value),
            "risk_missing": if risk.is_some() { Vec::new() } else { module.risk.missing.clone() },
        })
    };
    json!({
        "version": 1,
        "repository": inventory.root,
        "modules": inventory.modules.iter().map(node).collect::<Vec<_>>(),
        "imports": imports(inventory, &numbers),
        "groups": groups.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "cycles": inventory.cycles,
    })
}

/// Last measured value.
fn last(values: &[Option<f64>]) -> Option<f64> {
    values.iter().rev().find_map(|value| *value)
}

fn imports(inventory: &Inventory, numbers: &BTreeMap<&str, usize>) -> Vec<(usize, usize)> {
    let of = |(from, module): (usize, &PythonModule)| -> Vec<(usize, usize)> {
        module.imports.iter().filter_map(|name| Some((from, *numbers.get(name.as_str())?))).collect()
    };
    inventory.modules.iter().enumerate().flat_map(of).collect()
}
