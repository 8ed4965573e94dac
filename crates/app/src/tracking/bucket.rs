//! `borderline_bucket.jsonl`: a line for each candidate, every time something is known about it.

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

/// What is known about candidates: the lines in their order. A line that cannot be read is said, and passed over.
fn read(path: &Path) -> BorderlineCandidates {
    let mut bucket = BorderlineCandidates::default();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                tracing::warn!("{} is passed over: {error}", path.display());
            }
            String::new()
        }
    };
    for (number, line) in text.lines().enumerate() {
        match serde_json::from_str::<BorderlineBucketLine>(line) {
            Ok(line) => {
                // What was said stands, whatever the rules are now.
                let never = BorderlineRules { raroi: f64::INFINITY, confidence: 1.0 };
                bucket.add_if_borderline(&line.workflow, line.raroi, line.confidence, &never);
                if let Some(pilot) = bucket.0.get_mut(&line.workflow) {
                    pilot.status = line.status;
                }
            }
            Err(error) => tracing::warn!("line {} of {} is passed over: {error}", number + 1, path.display()),
        }
    }
    bucket
}

/// Puts those that are not good enough into the bucket, and gives those that wait there now.
pub(super) fn considered(
    context: &AppContext,
    modules: impl Iterator<Item = (String, f64, Option<f64>)>,
    at_ms: i64,
) -> Result<Vec<(String, PilotStatus)>, AppError> {
    let settings = &context.settings().roi;
    if settings.micropilot_mode == MicropilotMode::Off {
        return Ok(Vec::new());
    }
    let (path, rules) = place(context);
    let mut bucket = read(&path);
    let mut placed = Vec::new();
    for (name, raroi, confidence) in modules {
        // Before the first forecast nothing is known about how sure anything is.
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

/// What a small run of its own says about a candidate.
pub(crate) fn micropilot_decision(
    context: &AppContext,
    name: &str,
    raroi: f64,
    confidence: f64,
    at_ms: i64,
) -> Result<PilotStatus, AppError> {
    let (path, rules) = place(context);
    let status = read(&path).decide(name, raroi, confidence, &rules);
    append_line(
        &path,
        &BorderlineBucketLine { workflow: name.to_owned(), raroi, confidence, status, at_ms },
    )?;
    Ok(status)
}

fn place(context: &AppContext) -> (PathBuf, BorderlineRules) {
    let settings = &context.settings().roi;
    let rules = BorderlineRules {
        raroi: settings.borderline_raroi_threshold,
        confidence: settings.borderline_confidence_threshold.get(),
    };
    (context.data_directory().join("borderline_bucket.jsonl"), rules)
}
