//! `borderline_bucket.jsonl`: candidates for micro-pilots, one line per change of status.

use std::path::{Path, PathBuf};

use menace_model::settings::MicropilotMode;
use menace_tracker::roi::{BorderlineCandidates, BorderlineRules, PilotStatus};
use serde::{Deserialize, Serialize};

use super::history_files::append_line;
use crate::{AppContext, AppError};

#[derive(Debug, Serialize, Deserialize)]
struct BorderlineBucketLine {
    workflow: String,
    raroi: f64,
    confidence: f64,
    status: PilotStatus,
    at_ms: i64,
}

/// Reads the candidates. Unreadable lines are logged and skipped.
fn read(path: &Path) -> BorderlineCandidates {
    let mut bucket = BorderlineCandidates::default();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                tracing::warn!("failed to read {}: {error}", path.display());
            }
            String::new()
        }
    };
    for (number, line) in text.lines().enumerate() {
        match serde_json::from_str::<BorderlineBucketLine>(line) {
            Ok(line) => {
                // A recorded status stands, even if the rules have changed since.
                let never = BorderlineRules { raroi: f64::INFINITY, confidence: 1.0 };
                bucket.add_if_borderline(&line.workflow, line.raroi, line.confidence, &never);
                if let Some(pilot) = bucket.0.get_mut(&line.workflow) {
                    pilot.status = line.status;
                }
            }
            Err(error) => tracing::warn!("skipping line {} of {}: {error}", number + 1, path.display()),
        }
    }
    bucket
}

/// Adds borderline modules to the bucket, and returns the new candidates.
pub(super) fn considered(
    context: &AppContext,
    modules: impl Iterator<Item = (String, f64, Option<f64>)>,
    at_ms: i64,
) -> Result<Vec<(String, PilotStatus)>, AppError> {
    let settings = &context.settings().roi;
    if settings.micropilot_mode == MicropilotMode::Off {
        return Ok(Vec::new());
    }
    let (path, rules) = bucket_path_and_rules(context);
    let mut bucket = read(&path);
    let mut placed = Vec::new();
    for (name, raroi, confidence) in modules {
        // There is no confidence before the first forecast.
        let Some(confidence) = confidence else { continue };
        if bucket.add_if_borderline(&name, raroi, confidence, &rules) {
            let status = PilotStatus::Candidate;
            append_line(
                &path,
                &BorderlineBucketLine { workflow: name.clone(), raroi, confidence, status, at_ms },
            )?;
            placed.push((name, status));
        }
    }
    Ok(placed)
}

/// Decides about a candidate after its micro-pilot, and records the decision.
pub(crate) fn micropilot_decision(
    context: &AppContext,
    name: &str,
    raroi: f64,
    confidence: f64,
    at_ms: i64,
) -> Result<PilotStatus, AppError> {
    let (path, rules) = bucket_path_and_rules(context);
    let status = read(&path).decide(name, raroi, confidence, &rules);
    append_line(
        &path,
        &BorderlineBucketLine { workflow: name.to_owned(), raroi, confidence, status, at_ms },
    )?;
    Ok(status)
}

fn bucket_path_and_rules(context: &AppContext) -> (PathBuf, BorderlineRules) {
    let settings = &context.settings().roi;
    let rules = BorderlineRules {
        raroi: settings.borderline_raroi_threshold,
        confidence: settings.borderline_confidence_threshold.get(),
    };
    (context.data_directory().join("borderline_bucket.jsonl"), rules)
}
