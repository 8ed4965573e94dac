//! Measurements of a cycle from the observations of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use menace_model::inventory::PythonModule;
use menace_runner::RunReport;
use menace_tracker::forecast::{ForecastRequest, ForecastValue};
use menace_tracker::history::{CycleMeasurements, HistorySample, RoiHistory};
use menace_tracker::measure::{
    CallEconomics, CellKind, MeasuredMetrics, ObservedCell, StaticCodeMetrics, failures_of_100, measure,
};
use menace_tracker::roi::{ModuleRisks, RiskAdjustedRoi, confidence, rank};
use menace_tracker::workflows::{ComparedRecords, Discrepancy, discrepancies};

use super::cycle::CycleTracker;
use super::observed::{code_of, mean_code};
use super::plugins::ExtraMetrics;
use super::report::{CycleModuleRow, CycleReport, CycleScenarioRow, WeakestMetric};
use crate::calling::now_ms;

/// Observations of a run, and the history.
pub(super) struct CycleObservation<'a> {
    pub tracker: &'a CycleTracker<'a>,
    pub observed: &'a [ObservedCell],
    pub economy: &'a CallEconomics,
    pub history: &'a RoiHistory,
    /// Share of covered lines by path of the module.
    coverage: BTreeMap<&'a str, f64>,
}

impl<'a> CycleObservation<'a> {
    pub(super) fn new(
        tracker: &'a CycleTracker<'a>,
        report: &'a RunReport,
        observed: &'a [ObservedCell],
        economy: &'a CallEconomics,
        history: &'a RoiHistory,
    ) -> Self {
        let coverage = report.coverage.iter().map(|module| (module.path.as_str(), module.share)).collect();
        Self { tracker, observed, economy, history, coverage }
    }

    /// Metrics of some cells, including coverage.
    fn measure(
        &self,
        cells: &[&ObservedCell],
        code: &StaticCodeMetrics,
        coverage: Option<f64>,
    ) -> MeasuredMetrics {
        let mut measured = measure(cells, code, self.economy, &self.history.best_cpu_ms);
        match coverage {
            Some(coverage) => drop(measured.metrics.insert("coverage", coverage)),
            None => drop(measured.unavailable.insert("coverage", "no lines that a call can reach")),
        }
        measured
    }

    pub(super) fn cycle(&self, run: String, extra: &ExtraMetrics) -> (CycleMeasurements, CycleReport) {
        let modules: Vec<(CycleModuleRow, HistorySample)> =
            self.tracker.inventory.modules.iter().filter_map(|module| self.module(module)).collect();
        let (rows, measured): (Vec<CycleModuleRow>, Vec<HistorySample>) = modules.into_iter().unzip();
        let scenarios = self.scenarios();
        let all: Vec<&ObservedCell> = self.observed.iter().collect();
        let code = mean_code(&self.tracker.inventory.modules);
        let covered: Vec<f64> = self.coverage.values().copied().collect();
        let whole = self.measure(&all, &code, menace_tracker::statistics::mean(&covered));
        let mut metrics: BTreeMap<String, f64> =
            whole.metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let mut unavailable = whole.unavailable.clone();
        match self.projected(&metrics) {
            Some(value) => drop(metrics.insert("projected_lucrativity".to_owned(), value)),
            None => {
                unavailable.insert("projected_lucrativity", "no history to forecast from yet");
            }
        }
        metrics.extend(extra.metrics.clone());
        let found = self.discrepancies(&metrics);
        metrics.insert("discrepancy_count".to_owned(), found.len() as f64);
        let roi = self.tracker.rules.profile.level(|name| metrics.get(name).copied()).map(|level| level.roi);
        let cycle = CycleMeasurements {
            at_ms: now_ms(),
            run,
            roi,
            modules: measured,
            scenarios: scenarios
                .iter()
                .map(|row| HistorySample {
                    name: row.scenario.clone(),
                    roi: row.roi,
                    ..HistorySample::default()
                })
                .collect(),
            metrics: metrics.clone(),
            predicted_roi: expected(self.history, "roi"),
            predicted_metrics: metrics
                .keys()
                .filter_map(|name| Some((name.clone(), expected(self.history, name)?)))
                .chain(
                    extra
                        .predictions
                        .iter()
                        .map(|(name, value)| (name.clone(), ForecastValue { value: *value, interval: None })),
                )
                .collect(),
        };
        let report = CycleReport {
            cycle: 0,
            roi,
            delta: None,
            metrics,
            unavailable,
            energy_source: "",
            modules: ranked(rows),
            scenarios,
            forecast: None,
            discrepancies: found,
            roi_threshold: 0.0,
            synergy_threshold: 0.0,
            converged: false,
            problems: Vec::new(),
        };
        (cycle, report)
    }

    /// Measurements of a module; `None` if none of its sections was called.
    fn module(&self, module: &PythonModule) -> Option<(CycleModuleRow, HistorySample)> {
        let prefix = format!("{}:", module.name);
        let cells: Vec<&ObservedCell> =
            self.observed.iter().filter(|cell| cell.section.starts_with(&prefix)).collect();
        if cells.iter().all(|cell| cell.n == 0) {
            return None;
        }
        let code = code_of(module);
        let measurement = self.measure(&cells, &code, self.coverage.get(module.path.as_str()).copied());
        let level = self.tracker.rules.profile.level(|name| measurement.get(name))?;
        let tracked = self.history.modules.get(&module.path);
        let risks = self.risks(module, &cells, &measurement);
        let raroi = RiskAdjustedRoi::new(level.roi, &risks);
        let scenarios: BTreeMap<String, f64> = names(&cells)
            .into_iter()
            .filter_map(|name| Some((name.clone(), self.under(&name, &cells, &code)?)))
            .collect();
        // Confidence of last-value forecasts of the ROI: there are no recorded forecasts of modules.
        let levels = tracked.map_or(&[][..], |tracked| tracked.levels.as_slice());
        let confidence = confidence(levels, levels.get(1..).unwrap_or_default());
        let metrics = measurement.metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let measured = HistorySample {
            name: module.path.clone(),
            roi: level.roi,
            raroi: Some(raroi.raroi),
            scenarios: scenarios.clone().into_iter().collect(),
            metrics,
            entropy: module.entropy,
        };
        let weakest = self
            .tracker
            .rules
            .profile
            .weakest(|name| measurement.get(name))
            .map(|(metric, value, hint)| WeakestMetric { metric, value, hint: hint.to_owned() });
        let row = CycleModuleRow {
            module: module.path.clone(),
            raroi,
            delta: None,
            confidence,
            needs_review: false,
            vetoes: level.vetoes,
            missing: level.missing,
            weakest,
            scenarios,
            metrics: measurement.metrics,
            unavailable: measurement.unavailable,
            borderline: None,
            complete: None,
        };
        Some((row, measured))
    }

    fn risks(
        &self,
        module: &PythonModule,
        cells: &[&ObservedCell],
        measurement: &MeasuredMetrics,
    ) -> ModuleRisks {
        let (n, well, flaky) = cells
            .iter()
            .fold((0, 0, 0), |sum, cell| (sum.0 + cell.n, sum.1 + cell.ended_well, sum.2 + cell.flaky));
        let share = |count: usize| if n == 0 { 0.0 } else { count as f64 / n as f64 };
        let deltas = self.history.modules.get(&module.path).and_then(|tracked| tracked.deltas.get(1..));
        let (kept, reverted) = self.tracker.patches.get(&module.path).copied().unwrap_or_default();
        ModuleRisks {
            kept,
            reverted,
            error_rate: share(n - well),
            flaky_rate: share(flaky),
            severity: self.tracker.rules.severities.of(&module.path),
            deltas: deltas.unwrap_or_default().to_vec(),
            safety_rating: measurement.get("safety_rating"),
            security_score: measurement.get("security_score"),
            failures_of_100: failures_of_100(cells),
            failing_critical_suites: self.failing_suites(module),
        }
    }

    /// Number of failing test files that import a module; `None` if the tests were not run.
    fn failing_suites(&self, module: &PythonModule) -> Option<u32> {
        let failing = self.tracker.failing_suites.as_ref()?;
        let suites = self.tracker.inventory.modules.iter().filter(|suite| failing.contains(&suite.path));
        let using = suites.filter(|suite| suite.imports.contains(&module.name)).count();
        Some(u32::try_from(using).unwrap_or(u32::MAX))
    }

    /// ROI of cells under one scenario, with the robustness in it as reliability.
    fn under(&self, scenario: &str, cells: &[&ObservedCell], code: &StaticCodeMetrics) -> Option<f64> {
        let of_scenario: Vec<ObservedCell> = cells
            .iter()
            .filter(|cell| cell.scenario == scenario)
            .map(|cell| ObservedCell { kind: CellKind::Ordinary, ..(*cell).clone() })
            .collect();
        let measurement =
            measure(&of_scenario.iter().collect::<Vec<_>>(), code, self.economy, &self.history.best_cpu_ms);
        self.tracker.rules.profile.level(|name| measurement.get(name)).map(|level| level.roi)
    }

    fn scenarios(&self) -> Vec<CycleScenarioRow> {
        let all: Vec<&ObservedCell> = self.observed.iter().collect();
        let code = mean_code(&self.tracker.inventory.modules);
        let row = |scenario: String| {
            let roi = self.under(&scenario, &all, &code)?;
            Some(CycleScenarioRow { scenario, roi, delta: None })
        };
        names(&all).into_iter().filter_map(row).collect()
    }

    /// Forecast of the profitability in the next cycle, from the history and this cycle.
    fn projected(&self, metrics: &BTreeMap<String, f64>) -> Option<f64> {
        let mut series = self.history.series("profitability");
        series.extend(metrics.get("profitability"));
        let forecast = menace_tracker::forecast::forecast(&ForecastRequest::next(&series)).ok()?;
        forecast.steps.first().map(|step| step.value.min(1.0))
    }

    fn discrepancies(&self, metrics: &BTreeMap<String, f64>) -> Vec<Discrepancy> {
        let inventory = self.tracker.inventory;
        let sections = inventory.modules.iter().flat_map(|module| {
            module.sections.iter().map(move |section| format!("{}:{}", module.name, section.name))
        });
        discrepancies(&ComparedRecords {
            sections: sections.collect(),
            workflows: self.tracker.workflows.clone(),
            metrics: metrics.clone(),
            cycles: self.history.cycles.iter().map(|cycle| cycle.number).collect(),
            modules: inventory.modules.iter().map(|module| module.path.clone()).collect(),
            mapped: mapped(&self.tracker.context.data_directory()),
        })
    }
}

/// Modules of `module_map.json`; `None` if it does not exist.
fn mapped(directory: &Path) -> Option<BTreeSet<String>> {
    let path = directory.join("module_map.json");
    let text = std::fs::read_to_string(&path).ok()?;
    let map: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let modules = map["modules"].as_object();
    if modules.is_none() {
        tracing::warn!("{} contains no modules; not compared with the repository", path.display());
    }
    Some(modules?.keys().cloned().collect())
}

/// Forecast of a metric for this cycle, from the history before it.
fn expected(history: &RoiHistory, metric: &str) -> Option<ForecastValue> {
    history.forecast_next(metric, &[])?.steps.first().copied()
}

fn names(cells: &[&ObservedCell]) -> BTreeSet<String> {
    cells.iter().filter(|cell| cell.n > 0).map(|cell| cell.scenario.clone()).collect()
}

fn ranked(rows: Vec<CycleModuleRow>) -> Vec<CycleModuleRow> {
    let scored = rows.iter().map(|row| (row.module.clone(), row.raroi.raroi, row.confidence));
    let order = rank(scored);
    let mut by_name: BTreeMap<String, CycleModuleRow> =
        rows.into_iter().map(|row| (row.module.clone(), row)).collect();
    order
        .into_iter()
        .filter_map(|ranked| {
            let mut row = by_name.remove(&ranked.name)?;
            row.needs_review = ranked.needs_review;
            Some(row)
        })
        .collect()
}
