//! What a reviewer may remark, and where scores go, as the settings want it.

use std::path::Path;

use anyhow::Context;
use menace_analysis::write_atomically;
use menace_engine::alignment::{AlignmentBaseline, AlignmentRules};
use menace_engine::scores::ScorePublisher;
use menace_model::inventory::Inventory;

use crate::configuration::Configuration;
use crate::terminal::note;

/// What a reviewer may remark. What files have now is what changes are compared with, unless somebody wrote it down.
pub(super) fn alignment(
    configuration: &Configuration,
    root: &Path,
    inventory: &Inventory,
) -> anyhow::Result<AlignmentRules> {
    let settings = &configuration.settings().alignment;
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
        journal: Some(configuration.data_directory().join("alignment_flags.jsonl")),
    })
}

fn written(baseline: AlignmentBaseline, path: &Path) -> anyhow::Result<AlignmentBaseline> {
    let text = serde_json::to_vec_pretty(&baseline)?;
    write_atomically(path, &text).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(baseline)
}

/// Where scores of patches go beside the ledger.
pub(super) fn scores(configuration: &Configuration) -> anyhow::Result<ScorePublisher> {
    let Some(address) = &configuration.settings().storage.patch_score_backend_url else {
        return Ok(ScorePublisher::default());
    };
    if address.expose().starts_with("s3://") {
        note("scores: s3:// is not there yet, so that they stay in this data directory");
        return Ok(ScorePublisher::default());
    }
    let waiting = configuration.data_directory().join("patch_scores.jsonl");
    Ok(ScorePublisher::remote(address.expose(), waiting)?)
}
