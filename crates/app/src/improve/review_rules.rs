//! What a reviewer may remark, and where scores go, as the settings want it.

use std::path::Path;

use crate::error::FileContext;
use crate::{AppContext, AppError, AppEvent, RequestError};
use menace_analysis::write_atomically;
use menace_engine::alignment::{AlignmentBaseline, AlignmentRules};
use menace_engine::scores::ScorePublisher;
use menace_model::inventory::Inventory;

/// What a reviewer may remark. What files have now is what changes are compared with, unless somebody wrote it down.
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
            None => written(now(), path)?,
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

fn written(baseline: AlignmentBaseline, path: &Path) -> Result<AlignmentBaseline, AppError> {
    let text = serde_json::to_vec_pretty(&baseline)?;
    write_atomically(path, &text).file("write", path)?;
    Ok(baseline)
}

/// Where scores of patches go beside the ledger.
pub(super) fn scores(context: &AppContext) -> Result<ScorePublisher, AppError> {
    let Some(address) = &context.settings().storage.patch_score_backend_url else {
        return Ok(ScorePublisher::default());
    };
    if address.expose().starts_with("s3://") {
        context.emit(AppEvent::PatchScoresLocal);
        return Ok(ScorePublisher::default());
    }
    let waiting = context.data_directory().join("patch_scores.jsonl");
    ScorePublisher::remote(address.expose(), waiting)
        .map_err(|problem| RequestError::PatchScoreStore(problem).into())
}
