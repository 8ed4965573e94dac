//! Forecasts of workflows from their trajectories: `foresight_history.json`.

use std::collections::BTreeMap;
use std::path::Path;

use menace_analysis::write_atomically;
use menace_tracker::foresight::{WorkflowCycleMetrics, WorkflowForecast, WorkflowForesight};
use serde::Deserialize;

use super::scenarios::TrajectoryStageRow;
use crate::error::FileContext;
use crate::{AppContext, AppError, RequestError};

/// Number of recorded cycles per workflow, and the ROI volatility above which a workflow is volatile.
const WINDOW: usize = 10;
const VOLATILITY: f64 = 0.1;

/// `configs/foresight_templates.yaml`: trajectories by profile, and the profile of each workflow.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ForesightTemplates {
    trajectories: BTreeMap<String, Vec<f64>>,
    profiles: BTreeMap<String, String>,
}

/// Records a trajectory and returns the forecast of the workflow.
pub(super) fn record(
    context: &AppContext,
    root: &Path,
    workflow: &str,
    rows: &[TrajectoryStageRow],
) -> Result<Option<WorkflowForecast>, AppError> {
    let path = context.data_directory().join("foresight_history.json");
    let mut foresight = match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|error| RequestError::Rules { path: path.clone(), problem: error.to_string() })?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            WorkflowForesight::new(WINDOW, VOLATILITY)
        }
        Err(error) => return Err(error).file("read", &path),
    };
    let templates = templates(root)?;
    foresight.templates.extend(templates.trajectories);
    foresight.profiles.extend(templates.profiles);
    let cycle = metrics(rows);
    if cycle.contains_key("roi") {
        foresight.record(workflow, cycle);
        let mut text = serde_json::to_vec(&foresight)?;
        text.push(b'\n');
        write_atomically(&path, &text).file("write", &path)?;
    }
    Ok(foresight.forecast(workflow))
}

fn templates(root: &Path) -> Result<ForesightTemplates, AppError> {
    let path = root.join("configs/foresight_templates.yaml");
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(ForesightTemplates::default());
        }
        result => result.file("read", &path)?,
    };
    serde_saphyr::from_str(&text)
        .map_err(|error| RequestError::Rules { path: path.clone(), problem: error.to_string() }.into())
}

/// Metrics of a trajectory, prefixed with the stage; the first stage also without a prefix.
fn metrics(rows: &[TrajectoryStageRow]) -> WorkflowCycleMetrics {
    let mut metrics = WorkflowCycleMetrics::new();
    for (at, row) in rows.iter().enumerate() {
        let named = [("roi", row.roi), ("resilience", row.resilience), ("degradation", row.degradation)];
        for (name, value) in named.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            metrics.insert(format!("{}_{name}", row.stage), value);
            if at == 0 {
                metrics.insert(name.to_owned(), value);
            }
        }
    }
    if let Some(stability) = rows.last().and_then(|row| row.stability) {
        metrics.insert("stability".to_owned(), stability);
    }
    metrics
}
