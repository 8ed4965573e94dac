//! Tracking of one cycle: adds the measurements of a run to the history.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use menace_model::inventory::Inventory;
use menace_runner::RunReport;
use menace_store::Store;
use menace_tracker::forecast::ForecastModel;
use menace_tracker::history::RoiHistory;
use menace_tracker::measure::{CallEconomics, CellKind, ObservedCell};
use menace_tracker::{ResourcePrices, convergence};

use super::completion::{CycleThresholds, reason, write_flags};
use super::cycle_measurement::CycleObservation;
use super::energy::EnergyMeter;
use super::forecasts::ForecastReport;
use super::history_files::{append_line, read_history_or_empty, with_history};
use super::observed::observed;
use super::plugins::{ExtraMetrics, MetricsFile};
use super::report::{CycleReport, records};
use super::resources::{last_values, record_resources};
use super::roi_rules::RoiScoringRules;
use crate::calling::{RepositoryExecutor, now_ms};
use crate::{AppContext, AppError};

/// Tracker of the cycles of a repository.
pub(crate) struct CycleTracker<'a> {
    pub context: &'a AppContext,
    pub inventory: &'a Inventory,
    pub rules: RoiScoringRules,
    /// Metrics from files and plugins.
    pub metrics_file: &'a MetricsFile,
    /// File of logged forecasts.
    pub forecast_log: Option<&'a Path>,
    /// Whether only some modules were called: their ROI is not comparable with that of all, and is not recorded.
    pub is_partial: bool,
    /// Stored workflows and the sections that they name.
    pub workflows: BTreeMap<String, Vec<String>>,
    /// Numbers of kept and of reverted patches, by path of the module.
    pub patches: BTreeMap<String, (u64, u64)>,
    /// Test files with failing tests; `None` if the tests were not run.
    pub failing_suites: Option<BTreeSet<String>>,
}

impl CycleTracker<'_> {
    /// Adds a run to the history.
    pub(crate) async fn cycle(
        &self,
        report: &RunReport,
        meter: &EnergyMeter,
        calling: &RepositoryExecutor,
    ) -> Result<CycleReport, AppError> {
        let observed: Vec<ObservedCell> = report.cells.iter().map(observed).collect();
        let cpu_seconds: f64 = observed.iter().filter_map(|cell| cell.cpu_seconds).sum();
        let settings = self.context.settings();
        let (watts, energy_source) = meter.watts(cpu_seconds, settings.metrics.watts_per_core.get());
        let prices = ResourcePrices {
            value_per_call: settings.roi.value_per_call,
            per_cpu_second: settings.roi.price_per_cpu_second,
            per_gb_second: settings.roi.price_per_gb_second,
        };
        let economy = CallEconomics { prices, watts };
        let directory = self.context.data_directory();
        let run = report.run.as_ref().map_or_else(String::new, ToString::to_string);
        // Plugins get the previous history, and run before the history is locked.
        let extra = {
            let history = read_history_or_empty(&directory, &self.inventory.root);
            let seen = CycleObservation::new(self, report, &observed, &economy, &history);
            let before = history.roi_levels.last().copied().unwrap_or(0.0);
            let roi = seen.cycle(String::new(), &ExtraMetrics::default()).0.roi.unwrap_or(before);
            self.metrics_file.collect(calling, report, &history, (before, roi)).await?
        };
        let database = settings.roi.resource_db.as_deref().filter(|_| !self.is_partial);
        let resources = record_resources(database, report, cpu_seconds).await?;
        let add = |history: &mut RoiHistory| {
            update_best_cpu_times(history, &observed);
            let seen = CycleObservation::new(self, report, &observed, &economy, history);
            let (cycle, mut found) = seen.cycle(run, &extra);
            found.energy_source = energy_source;
            found.problems = history.update(cycle);
            self.conclude(history, &resources, &mut found)?;
            Ok(found)
        };
        if self.is_partial {
            return add(&mut read_history_or_empty(&directory, &self.inventory.root));
        }
        let found = with_history(&directory, &self.inventory.root, |history| {
            let found = add(history)?;
            write_flags(&directory, history)?;
            self.log(&directory, &found)?;
            Ok(found)
        })?;
        let store = Store::open("sqlite:///metrics.db", &directory).await?;
        store.add_metrics(&records(report, &found)).await?;
        store.close().await?;
        Ok(found)
    }

    /// Completes the report with values from the history, which contains this cycle.
    fn conclude(
        &self,
        history: &mut RoiHistory,
        resources: &[Vec<f64>],
        found: &mut CycleReport,
    ) -> Result<(), AppError> {
        found.cycle = history.cycles.len();
        found.delta = (history.roi_levels.len() > 1).then(|| history.roi_history.last().copied()).flatten();
        let thresholds = CycleThresholds::of(self.context, history);
        (found.roi_threshold, found.synergy_threshold) = (thresholds.roi, thresholds.synergy);
        let mut complete = BTreeMap::new();
        for row in &mut found.modules {
            let Some(tracked) = history.modules.get(&row.module) else { continue };
            row.delta = (tracked.levels.len() > 1).then(|| tracked.deltas.last().copied()).flatten();
            row.complete = reason(self.context, tracked, thresholds);
            complete.extend(row.complete.clone().map(|why| (row.module.clone(), why)));
        }
        for row in &mut found.scenarios {
            let tracked = history.scenarios.get(&row.scenario).filter(|tracked| tracked.levels.len() > 1);
            row.delta = tracked.and_then(|tracked| tracked.deltas.last().copied());
        }
        found.converged = !found.modules.is_empty() && found.modules.iter().all(|row| row.complete.is_some());
        history.complete = complete;
        found.forecast = forecast_roi(history, resources).filter(|_| !self.is_partial);
        let names: Vec<String> = history.metrics_history.keys().cloned().collect();
        let model = |name: &String| Some((name.clone(), history.forecast_next(name, &[])?.model));
        let made: Vec<(String, ForecastModel)> = names.iter().filter_map(model).collect();
        history.store_models(made.iter().map(|(name, model)| (name.as_str(), *model)));
        history.store_models(found.forecast.iter().map(|report| ("roi", report.forecast.model)));
        if self.is_partial {
            return Ok(());
        }
        let placed = super::bucket::considered(
            self.context,
            found.modules.iter().map(|row| (row.module.clone(), row.raroi.raroi, row.confidence)),
            now_ms(),
        )?;
        for (module, status) in placed {
            if let Some(row) = found.modules.iter_mut().find(|row| row.module == module) {
                row.borderline = Some(status);
            }
        }
        Ok(())
    }

    fn log(&self, directory: &Path, found: &CycleReport) -> Result<(), AppError> {
        append_line(
            &directory.join("threshold_log.jsonl"),
            &serde_json::json!({
                "timestamp": now_ms() as f64 / 1e3,
                "run": found.cycle,
                "roi_threshold": found.roi_threshold,
                "synergy_threshold": found.synergy_threshold,
                "converged": found.converged,
            }),
        )?;
        let (Some(path), Some(forecast)) = (self.forecast_log, &found.forecast) else { return Ok(()) };
        append_line(
            path,
            &serde_json::json!({
                "timestamp": now_ms() as f64 / 1e3,
                "run": found.cycle,
                "roi": found.roi,
                "forecast": forecast,
                "roi_threshold": found.roi_threshold,
                "synergy_threshold": found.synergy_threshold,
            }),
        )
    }
}

/// Forecast of the ROI, with the resource usage of cycles as covariates; `None` if there is too little data.
fn forecast_roi(history: &RoiHistory, resources: &[Vec<f64>]) -> Option<ForecastReport> {
    let series = history.series("roi");
    let columns = last_values(resources, series.len());
    let made = history.forecast_accuracy("roi");
    Some(ForecastReport::new("roi", series.len(), history.forecast_next("roi", &columns)?, made))
}

/// Updates the lowest CPU time of each section.
fn update_best_cpu_times(history: &mut RoiHistory, observed: &[ObservedCell]) {
    let ordinary = observed.iter().filter(|cell| cell.kind == CellKind::Ordinary);
    for (section, now) in ordinary.filter_map(|cell| Some((&cell.section, cell.cpu_ms_of_ok?))) {
        let best = history.best_cpu_ms.entry(section.clone()).or_insert(now);
        *best = best.min(now);
    }
}

/// Convergence test of the synergy in a history.
pub fn synergy_rests(context: &AppContext, history: &RoiHistory) -> convergence::SynergyConvergence {
    let settings = &context.settings().synergy;
    let thresholds = CycleThresholds::of(context, history);
    let cycles = settings.synergy_cycles.unwrap_or(3) as usize;
    let rules = convergence::SynergyConvergenceRules {
        threshold: thresholds.synergy,
        window: settings.synergy_ma_window.unwrap_or(cycles),
        confidence: settings.synergy_confidence.get(),
        stationarity_confidence: settings.synergy_stationarity_confidence.get(),
        variance_confidence: settings.synergy_variance_confidence.get(),
    };
    convergence::synergy_converged(&history.series("synergy_roi"), &rules)
}
