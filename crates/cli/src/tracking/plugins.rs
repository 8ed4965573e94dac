//! More metrics: from `SANDBOX_METRICS_FILE`, and from plugins, which run in a sandbox. A plugin that is broken is a warning:
//! what menace measures itself does not depend on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::harness::{HarnessReply, HarnessRequest, MetricsPluginRequest, PluginResources};
use menace_runner::RunReport;
use menace_tracker::history::RoiHistory;
use serde::Deserialize;

use crate::calling::{RepositoryExecutor, ask_plugin, python_files};
use crate::commands::UsageError;
use crate::configuration::Configuration;

/// How long a plugin may take.
const LONGEST: Duration = Duration::from_secs(30);

/// What a metrics file says.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MetricsFile {
    plugin_dirs: Vec<PathBuf>,
    extra_metrics: BTreeMap<String, f64>,
}

/// More metrics of a cycle, and what plugins predict of the next.
#[derive(Debug, Default)]
pub(crate) struct ExtraMetrics {
    pub(crate) metrics: BTreeMap<String, f64>,
    pub(crate) predictions: BTreeMap<String, f64>,
}

impl MetricsFile {
    /// That of the settings; relative directories are beside it.
    pub(crate) fn read(configuration: &Configuration) -> anyhow::Result<Self> {
        let settings = &configuration.settings().metrics;
        let mut file = match &settings.metrics_file {
            None => Self::default(),
            Some(path) => {
                let wrong = |problem: String| UsageError::MetricsFile { path: path.clone(), problem };
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

    /// Asks all plugins.
    pub(crate) async fn collect(
        &self,
        calling: &RepositoryExecutor,
        report: &RunReport,
        history: &RoiHistory,
        (before, roi): (f64, f64),
    ) -> anyhow::Result<ExtraMetrics> {
        let mut extra = ExtraMetrics { metrics: self.extra_metrics.clone(), ..ExtraMetrics::default() };
        for path in self.plugins() {
            let request = request(&path, report, history, (before, roi));
            let asked = match request {
                Ok(request) => ask(calling, request).await?,
                Err(error) => Err(error.to_string()),
            };
            match asked {
                Ok((metrics, predictions)) => {
                    extra.metrics.extend(metrics);
                    extra.predictions.extend(predictions);
                }
                Err(problem) => tracing::warn!("the plugin {} is left out: {problem}", path.display()),
            }
        }
        Ok(extra)
    }

    fn plugins(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for directory in &self.plugin_dirs {
            match python_files(directory) {
                Err(error) => tracing::warn!("plugins of {} are left out: {error}", directory.display()),
                Ok(inside) => all.extend(inside),
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

async fn ask(
    calling: &RepositoryExecutor,
    request: HarnessRequest,
) -> anyhow::Result<Result<MetricsPluginAnswer, String>> {
    let of_kind = |reply| match reply {
        HarnessReply::MetricsPlugin(reply) => Some(reply),
        _ => None,
    };
    let asked = ask_plugin(calling, request, LONGEST, of_kind).await?;
    Ok(asked.map(|reply| (reply.metrics, reply.predictions)))
}
