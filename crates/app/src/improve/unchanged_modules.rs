//! Modules whose outcomes are carried over: their code is unchanged since the previous cycle.

use std::collections::BTreeSet;

use menace_engine::baseline::affected_modules;
use menace_engine::worktree::Worktree;
use menace_model::ids::RunId;
use menace_model::inventory::Inventory;
use menace_store::Store;

use super::run_state::StartedCycle;
use crate::calling::RunSettings;
use crate::{AppContext, AppError, AppEvent};

/// Run of the previous cycle and the names of the modules with identical calls. `None` if its settings differ, because
/// then other calls are planned.
pub(super) async fn unchanged_modules(
    context: &AppContext,
    store: &Store,
    tree: &Worktree,
    (previous, now): (&StartedCycle, &StartedCycle),
    settings: &RunSettings,
    inventory: &Inventory,
) -> Result<Option<(RunId, BTreeSet<String>)>, AppError> {
    let before: RunSettings = match serde_json::from_value(store.run(&previous.run).await?.options) {
        Ok(before) => before,
        Err(_) => return Ok(None),
    };
    let plan_inputs = |settings: &RunSettings| {
        serde_json::to_value((
            &settings.presets,
            &settings.given,
            settings.seed,
            settings.timeout_ms,
            &settings.python,
        ))
    };
    if plan_inputs(&before)? != plan_inputs(settings)? {
        return Ok(None);
    }
    let changed = tree.changed(&previous.base, &now.base).await?;
    let same = untouched(inventory, &changed);
    if same.is_empty() {
        return Ok(None);
    }
    context.emit(AppEvent::ModulesUnchanged { count: same.len() });
    Ok(Some((previous.run.clone(), same)))
}

/// Modules whose files and direct and indirect imports are unchanged.
fn untouched(inventory: &Inventory, changed: &[String]) -> BTreeSet<String> {
    let touched = affected_modules(inventory, |path| changed.iter().any(|one| one == path));
    let all = inventory.modules.iter().map(|module| &module.name);
    all.filter(|name| !touched.contains(*name)).cloned().collect()
}
