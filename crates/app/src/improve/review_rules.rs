//! Alignment rules and patch scores, from the settings.

use std::path::Path;

use crate::error::FileContext;
use crate::{AppContext, AppError, AppEvent};
use menace_analysis::write_atomically;
use menace_engine::alignment::{AlignmentBaseline, AlignmentRules};
use menace_engine::scores::ScorePublisher;
use menace_model::inventory::Inventory;

/// Alignment rules. Changes are compared with the recorded baseline, or with the current files if there is none.
pub(super) fn alignment(
    context: &AppContext,
    root: &Path,
    inventory: &Inventory,
) -> Result<AlignmentRules, AppError> {
    let settings = &context.settings().alignment;
    let now = || AlignmentBaseline::of(root, inventory.modules.iter().map(|module| module.path.as_str()));
    let baseline = match &settings.alignment_baseline_metrics_path {
        None => now(),
        Some(path) => match AlignmentBaseline::read(path)? {
            Some(known) => known,
            None => write_baseline(now(), path)?,
        },
    };
    Ok(AlignmentRules {
        enabled: settings.enable_alignment_flagger,
        warning: settings.alignment_warning_threshold.get(),
        failure: settings.alignment_failure_threshold.get(),
        baseline,
        journal: Some(context.data_directory().join("alignment_flags.jsonl")),
    })
}

fn write_baseline(baseline: AlignmentBaseline, path: &Path) -> Result<AlignmentBaseline, AppError> {
    let text = serde_json::to_vec_pretty(&baseline)?;
    write_atomically(path, &text).file("write", path)?;
    Ok(baseline)
}

/// Publisher of patch scores, in addition to the ledger.
pub(super) fn scores(context: &AppContext) -> Result<ScorePublisher, AppError> {
    let Some(address) = &context.settings().storage.patch_score_backend_url else {
        return Ok(ScorePublisher::default());
    };
    if address.expose().starts_with("s3://") {
        context.emit(AppEvent::PatchScoresLocal);
        return Ok(ScorePublisher::default());
    }
    let queue = context.data_directory().join("patch_scores.jsonl");
    Ok(ScorePublisher::remote(address.expose(), queue)?)
}
