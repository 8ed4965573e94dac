//! What a reviewer may remark, and where scores go, as the settings want it.

use std::path::Path;

use anyhow::Context;
use menace_analysis::write_atomically;
use menace_engine::alignment::{Baseline, Rules};
use menace_engine::scores::Scores;
use menace_model::inventory::Inventory;

use crate::configuration::Configuration;
use crate::terminal::note;

/// What a reviewer may remark. What files have now is what changes are compared with, unless somebody wrote it down.
pub(super) fn alignment(
    configuration: &Configuration,
    root: &Path,
    inventory: &Inventory,
) -> anyhow::Result<Rules> {
    let settings = &configuration.settings().alignment;
    let now = || Baseline::of(root, inventory.modules.iter().map(|module| module.path.as_str()));
    let baseline = match &settings.alignment_baseline_metrics_path {
        None => now(),
        Some(path) => match Baseline::read(path)? {
            Some(known) => known,
            None => written(now(), path)?,
        },
    };
    Ok(Rules {
        enabled: settings.enable_alignment_flagger,
        warning: settings.alignment_warning_threshold.get(),
        failure: settings.alignment_failure_threshold.get(),
        baseline,
        journal: Some(configuration.data_directory().join("alignment_flags.jsonl")),
    })
}

fn written(baseline: Baseline, path: &Path) -> anyhow::Result<Baseline> {
    let text = serde_json::to_vec_pretty(&baseline)?;
    write_atomically(path, &text).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(baseline)
}

/// Where scores of patches go beside the ledger.
pub(super) fn scores(configuration: &Configuration) -> anyhow::Result<Scores> {
    let Some(address) = &configuration.settings().storage.patch_score_backend_url else {
        return Ok(Scores::default());
    };
    if address.expose().starts_with("s3://") {
        note("scores: s3:// is not there yet, so that they stay in this data directory");
        return Ok(Scores::default());
    }
    let waiting = configuration.data_directory().join("patch_scores.jsonl");
    Scores::remote(address.expose(), waiting).map_err(anyhow::Error::msg)
}
