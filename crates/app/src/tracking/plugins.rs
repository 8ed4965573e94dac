//! Extra metrics from `SANDBOX_METRICS_FILE` and from plugins, which run in a sandbox. A broken plugin is a warning:
//! built-in metrics do not depend on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::harness::{HarnessReply, HarnessRequest, MetricsPluginRequest, PluginResources};
use menace_runner::RunReport;
use menace_tracker::history::RoiHistory;
use serde::Deserialize;

use crate::calling::{RepositoryExecutor, call_plugin, python_files};
use crate::{AppContext, AppError, RequestError};

/// Timeout of a plugin.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Content of a metrics file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MetricsFile {
    plugin_dirs: Vec<PathBuf>,
    extra_metrics: BTreeMap<String, f64>,
}

/// Extra metrics of a cycle, and predictions of plugins for the next one.
#[derive(Debug, Default)]
pub(crate) struct ExtraMetrics {
    pub metrics: BTreeMap<String, f64>,
    pub predictions: BTreeMap<String, f64>,
}

impl MetricsFile {
    /// Reads the file of the settings. Its directories are relative to the file.
    pub(crate) fn read(context: &AppContext) -> Result<Self, AppError> {
        let settings = &context.settings().metrics;
        let mut file = match &settings.metrics_file {
            None => Self::default(),
            Some(path) => {
                let wrong = |problem: String| RequestError::MetricsFile { path: path.clone(), problem };
                let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
                let mut file: Self =
                    serde_saphyr::from_str(&text).map_err(|error| wrong(error.to_string()))?;
                let beside = path.parent().unwrap_or(Path::new("."));
                for directory in &mut file.plugin_dirs {
                    *directory = beside.join(&*directory);
                }
                file
            }
        };
        file.plugin_dirs.extend(settings.metrics_plugin_dir.iter().cloned());
        Ok(file)
    }

    /// Runs all plugins.
    pub(crate) async fn collect(
        &self,
        calling: &RepositoryExecutor,
        report: &RunReport,
        history: &RoiHistory,
        (before, roi): (f64, f64),
    ) -> Result<ExtraMetrics, AppError> {
        let mut extra = ExtraMetrics { metrics: self.extra_metrics.clone(), ..ExtraMetrics::default() };
        for path in self.plugins() {
            let request = request(&path, report, history, (before, roi));
            let answer = match request {
                Ok(request) => run_plugin(calling, request).await?,
                Err(error) => Err(error.to_string()),
            };
            match answer {
                Ok((metrics, predictions)) => {
                    extra.metrics.extend(metrics);
                    extra.predictions.extend(predictions);
                }
                Err(problem) => tracing::warn!("skipping plugin {}: {problem}", path.display()),
            }
        }
        Ok(extra)
    }

    fn plugins(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for directory in &self.plugin_dirs {
            match python_files(directory) {
                Err(error) => tracing::warn!("skipping plugins in {}: {error}", directory.display()),
                Ok(files) => all.extend(files),
            }
        }
        all
    }
}

fn request(
    path: &Path,
    report: &RunReport,
    history: &RoiHistory,
    (before, roi): (f64, f64),
) -> std::io::Result<HarnessRequest> {
    let source = std::fs::read_to_string(path)?;
    let cpu_seconds: f64 = report.cells.iter().filter_map(|cell| cell.usage.cpu_seconds).sum();
    let series: BTreeMap<String, Vec<f64>> =
        history.metrics_history.keys().map(|name| (name.clone(), history.series(name))).collect();
    let forecasts: BTreeMap<String, f64> = series
        .iter()
        .filter_map(|(name, values)| {
            let question = menace_tracker::forecast::ForecastRequest::next(values);
            let forecast = menace_tracker::forecast::forecast(&question).ok()?;
            Some((name.clone(), forecast.steps.first()?.value))
        })
        .collect();
    let share = if report.seconds > 0.0 { cpu_seconds / report.seconds * 100.0 } else { 0.0 };
    Ok(HarnessRequest::MetricsPlugin(MetricsPluginRequest {
        source,
        path: path.display().to_string(),
        prev_roi: before,
        roi,
        resources: PluginResources { cpu: share, cpu_seconds, seconds: report.seconds, calls: report.calls },
        roi_history: history.roi_history.clone(),
        metrics_history: series,
        forecasts,
    }))
}

type MetricsPluginAnswer = (BTreeMap<String, f64>, BTreeMap<String, f64>);

async fn run_plugin(
    calling: &RepositoryExecutor,
    request: HarnessRequest,
) -> Result<Result<MetricsPluginAnswer, String>, AppError> {
    let of_kind = |reply| match reply {
        HarnessReply::MetricsPlugin(reply) => Some(reply),
        _ => None,
    };
    let reply = call_plugin(calling, request, TIMEOUT, of_kind).await?;
    Ok(reply.map(|reply| (reply.metrics, reply.predictions)))
}
