//! What a cycle need not measure again: calls of code that no change has touched since the cycle before.

use std::collections::BTreeSet;

use menace_engine::baseline::affected_modules;
use menace_engine::worktree::Worktree;
use menace_model::ids::RunId;
use menace_model::inventory::Inventory;
use menace_store::Store;

use super::run_state::StartedCycle;
use crate::calling::RunSettings;
use crate::{AppContext, AppError, AppEvent};

/// The run of the cycle before and the modules whose calls are the same as there, by name. Nothing if it was asked for in
/// another way, since other calls are planned then.
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
    let asked = |settings: &RunSettings| {
        serde_json::to_value((
            &settings.presets,
            &settings.given,
            settings.seed,
            settings.timeout_ms,
            &settings.python,
        ))
    };
    if asked(&before)? != asked(settings)? {
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

/// Modules that are not in changed files and import nothing that is, however far.
fn untouched(inventory: &Inventory, changed: &[String]) -> BTreeSet<String> {
    let touched = affected_modules(inventory, |path| changed.iter().any(|one| one == path));
    let all = inventory.modules.iter().map(|module| &module.name);
    all.filter(|name| !touched.contains(*name)).cloned().collect()
}
