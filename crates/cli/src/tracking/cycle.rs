//! One cycle: what a run measured, added to the history.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use menace_model::inventory::{Inventory, Module};
use menace_runner::{Cell, RunReport, Strategy};
use menace_store::{MetricRecord, Store};
use menace_tracker::forecast::{Expected, Model, Past, Question};
use menace_tracker::history::{Cycle, History, Measured};
use menace_tracker::measure::{
    CellKind, Code, Economy, Measurement, ObservedCell, ObservedRecovery, failures_of_100, measure,
};
use menace_tracker::roi::{Placed, Raroi, Risks, confidence, rank};
use menace_tracker::workflows::{Discrepancy, Known, discrepancies};
use menace_tracker::{Prices, convergence};
use serde::Serialize;

use super::completion::{Thresholds, reason, write_flags};
use super::energy::EnergyMeter;
use super::files::{append_line, peek, with_history};
use super::forecasts::ForecastReport;
use super::plugins::{Extra, MetricsFile};
use super::resources::{beside, with_this_run};
use super::rules::Rules;
use crate::calling::{Calling, now_ms};
use crate::configuration::Configuration;

/// What a cycle says, as people and programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct CycleReport {
    /// Counted from 1.
    pub(crate) cycle: usize,
    /// The ROI of the repository; nothing if nothing could be measured.
    pub(crate) roi: Option<f64>,
    /// Its change.
    pub(crate) delta: Option<f64>,
    /// Metrics of the repository.
    pub(crate) metrics: BTreeMap<String, f64>,
    /// Metrics that could not be measured, and why.
    pub(crate) unavailable: BTreeMap<&'static str, &'static str>,
    /// How energy was measured.
    pub(crate) energy_source: &'static str,
    /// Modules, the most worth first.
    pub(crate) modules: Vec<ModuleRow>,
    /// Scenarios.
    pub(crate) scenarios: Vec<ScenarioRow>,
    /// What comes next.
    pub(crate) forecast: Option<ForecastReport>,
    /// What does not fit together.
    pub(crate) discrepancies: Vec<Discrepancy>,
    /// What little is, in this cycle.
    pub(crate) roi_threshold: f64,
    pub(crate) synergy_threshold: f64,
    /// Whether all modules are complete.
    pub(crate) converged: bool,
    /// What could not be taken into the history.
    pub(crate) problems: Vec<String>,
}

/// A module.
#[derive(Debug, Serialize)]
pub(crate) struct ModuleRow {
    pub(crate) module: String,
    #[serde(flatten)]
    pub(crate) raroi: Raroi,
    pub(crate) delta: Option<f64>,
    pub(crate) confidence: Option<f64>,
    pub(crate) needs_review: bool,
    pub(crate) vetoes: Vec<String>,
    pub(crate) missing: Vec<&'static str>,
    /// The metric that costs most, and what to do about it.
    pub(crate) weakest: Option<Weakest>,
    pub(crate) scenarios: BTreeMap<String, f64>,
    pub(crate) metrics: BTreeMap<&'static str, f64>,
    pub(crate) unavailable: BTreeMap<&'static str, &'static str>,
    pub(crate) borderline: Option<Placed>,
    pub(crate) complete: Option<String>,
}

/// The metric that costs most.
#[derive(Debug, Serialize)]
pub(crate) struct Weakest {
    pub(crate) metric: &'static str,
    pub(crate) value: f64,
    pub(crate) hint: String,
}

/// A scenario.
#[derive(Debug, Serialize)]
pub(crate) struct ScenarioRow {
    pub(crate) scenario: String,
    pub(crate) roi: f64,
    pub(crate) delta: Option<f64>,
}

/// What cycles of a repository have in common.
pub(crate) struct Tracker<'a> {
    pub(crate) configuration: &'a Configuration,
    pub(crate) inventory: &'a Inventory,
    pub(crate) rules: Rules,
    /// Metrics from files and plugins.
    pub(crate) metrics_file: &'a MetricsFile,
    /// Where forecasts are logged.
    pub(crate) forecast_log: Option<&'a Path>,
    /// Only some modules were called: what that is worth cannot be compared with the worth of all, and is not kept.
    pub(crate) is_partial: bool,
    /// Stored workflows and the sections that they name.
    pub(crate) workflows: BTreeMap<String, Vec<String>>,
}

impl Tracker<'_> {
    /// Adds a run to the history.
    pub(crate) async fn cycle(
        &self,
        report: &RunReport,
        meter: &EnergyMeter,
        calling: &Calling,
    ) -> anyhow::Result<CycleReport> {
        let observed: Vec<ObservedCell> = report.cells.iter().map(observed).collect();
        let cpu_seconds: f64 = observed.iter().filter_map(|cell| cell.cpu_seconds).sum();
        let settings = self.configuration.settings();
        let (watts, energy_source) = meter.watts(cpu_seconds, settings.metrics.watts_per_core.get());
        let prices = Prices {
            value_per_call: settings.roi.value_per_call,
            per_cpu_second: settings.roi.price_per_cpu_second,
            per_gb_second: settings.roi.price_per_gb_second,
        };
        let economy = Economy { prices, watts };
        let directory = self.configuration.data_directory();
        let run = report.run.as_ref().map_or_else(String::new, ToString::to_string);
        // Plugins are asked with what was known before, and without holding the history for so long.
        let extra = {
            let history = peek(&directory, &self.inventory.root);
            let seen = Seen { tracker: self, observed: &observed, economy: &economy, history: &history };
            let before = history.roi_levels.last().copied().unwrap_or(0.0);
            let roi = seen.cycle(String::new(), &Extra::default()).0.roi.unwrap_or(before);
            self.metrics_file.collect(calling, report, &history, (before, roi)).await?
        };
        let database = settings.roi.resource_db.as_deref().filter(|_| !self.is_partial);
        let resources = with_this_run(database, report, cpu_seconds).await?;
        let add = |history: &mut History| {
            remember_best(history, &observed);
            let seen = Seen { tracker: self, observed: &observed, economy: &economy, history };
            let (cycle, mut found) = seen.cycle(run, &extra);
            found.energy_source = energy_source;
            found.problems = history.update(cycle);
            self.conclude(history, &resources, &mut found)?;
            Ok(found)
        };
        if self.is_partial {
            return add(&mut History::default());
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

    /// What the history says now that this cycle is in it.
    fn conclude(
        &self,
        history: &mut History,
        resources: &[Vec<f64>],
        found: &mut CycleReport,
    ) -> anyhow::Result<()> {
        found.cycle = history.cycles.len();
        found.delta = (history.roi_levels.len() > 1).then(|| history.roi_history.last().copied()).flatten();
        let thresholds = Thresholds::of(self.configuration, history);
        (found.roi_threshold, found.synergy_threshold) = (thresholds.roi, thresholds.synergy);
        let mut complete = BTreeMap::new();
        for row in &mut found.modules {
            let Some(tracked) = history.modules.get(&row.module) else { continue };
            row.delta = (tracked.levels.len() > 1).then(|| tracked.deltas.last().copied()).flatten();
            row.complete = reason(self.configuration, tracked, thresholds);
            complete.extend(row.complete.clone().map(|why| (row.module.clone(), why)));
        }
        for row in &mut found.scenarios {
            let tracked = history.scenarios.get(&row.scenario).filter(|tracked| tracked.levels.len() > 1);
            row.delta = tracked.and_then(|tracked| tracked.deltas.last().copied());
        }
        found.converged = !found.modules.is_empty() && found.modules.iter().all(|row| row.complete.is_some());
        history.complete = complete;
        found.forecast = next_of(history, resources).filter(|_| !self.is_partial);
        let names: Vec<String> = history.metrics_history.keys().cloned().collect();
        let model = |name: &String| Some((name.clone(), history.next(name, &[])?.model));
        let made: Vec<(String, Model)> = names.iter().filter_map(model).collect();
        history.remember(made.iter().map(|(name, model)| (name.as_str(), *model)));
        history.remember(found.forecast.iter().map(|report| ("roi", report.forecast.model)));
        if self.is_partial {
            return Ok(());
        }
        let placed = super::bucket::considered(
            self.configuration,
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

    fn log(&self, directory: &Path, found: &CycleReport) -> anyhow::Result<()> {
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

/// The forecast of the ROI, with what cycles took beside it; nothing if there is nothing to say.
fn next_of(history: &History, resources: &[Vec<f64>]) -> Option<ForecastReport> {
    let series = history.series("roi");
    let columns = beside(resources, series.len());
    let mut made = Past::default();
    let came = history.forecasts("roi");
    for (at, (expected, value)) in came.iter().enumerate() {
        let before = if at == 0 { *value } else { came[at - 1].1 };
        made.add(expected, *value, before);
    }
    Some(ForecastReport::new("roi", series.len(), history.next("roi", &columns)?, made))
}

/// The least CPU time of each section that was ever seen.
fn remember_best(history: &mut History, observed: &[ObservedCell]) {
    let ordinary = observed.iter().filter(|cell| cell.kind == CellKind::Ordinary);
    for (section, now) in ordinary.filter_map(|cell| Some((&cell.section, cell.cpu_ms_of_ok?))) {
        let best = history.best_cpu_ms.entry(section.clone()).or_insert(now);
        *best = best.min(now);
    }
}

/// What a run saw, beside the history.
struct Seen<'a> {
    tracker: &'a Tracker<'a>,
    observed: &'a [ObservedCell],
    economy: &'a Economy,
    history: &'a History,
}

impl Seen<'_> {
    fn cycle(&self, run: String, extra: &Extra) -> (Cycle, CycleReport) {
        let modules: Vec<(ModuleRow, Measured)> =
            self.tracker.inventory.modules.iter().filter_map(|module| self.module(module)).collect();
        let (rows, measured): (Vec<ModuleRow>, Vec<Measured>) = modules.into_iter().unzip();
        let scenarios = self.scenarios();
        let all: Vec<&ObservedCell> = self.observed.iter().collect();
        let code = mean_code(&self.tracker.inventory.modules);
        let whole = measure(&all, &code, self.economy, &self.history.best_cpu_ms);
        let mut metrics: BTreeMap<String, f64> =
            whole.metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let mut unavailable = whole.unavailable.clone();
        match self.projected(&metrics) {
            Some(value) => drop(metrics.insert("projected_lucrativity".to_owned(), value)),
            None => {
                unavailable.insert("projected_lucrativity", "there is nothing to forecast it from yet");
            }
        }
        metrics.extend(extra.metrics.clone());
        let found = self.discrepancies(&metrics);
        metrics.insert("discrepancy_count".to_owned(), found.len() as f64);
        let roi = self.tracker.rules.profile.level(|name| metrics.get(name).copied()).map(|level| level.roi);
        let cycle = Cycle {
            at_ms: now_ms(),
            run,
            roi,
            modules: measured,
            scenarios: scenarios
                .iter()
                .map(|row| Measured { name: row.scenario.clone(), roi: row.roi, ..Measured::default() })
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
                        .map(|(name, value)| (name.clone(), Expected { value: *value, interval: None })),
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

    /// What is measured of a module; nothing if none of its sections was called.
    fn module(&self, module: &Module) -> Option<(ModuleRow, Measured)> {
        let prefix = format!("{}:", module.name);
        let cells: Vec<&ObservedCell> =
            self.observed.iter().filter(|cell| cell.section.starts_with(&prefix)).collect();
        if cells.iter().all(|cell| cell.n == 0) {
            return None;
        }
        let code = code_of(module);
        let measurement = measure(&cells, &code, self.economy, &self.history.best_cpu_ms);
        let level = self.tracker.rules.profile.level(|name| measurement.get(name))?;
        let tracked = self.history.modules.get(&module.path);
        let risks = self.risks(module, &cells, &measurement);
        let raroi = Raroi::new(level.roi, &risks);
        let scenarios: BTreeMap<String, f64> = names(&cells)
            .into_iter()
            .filter_map(|name| Some((name.clone(), self.under(&name, &cells, &code)?)))
            .collect();
        // How well its ROI could have been forecast: by the last value, until forecasts of modules are kept.
        let levels = tracked.map_or(&[][..], |tracked| tracked.levels.as_slice());
        let confidence = confidence(levels, levels.get(1..).unwrap_or_default());
        let metrics = measurement.metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let measured = Measured {
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
            .map(|(metric, value, hint)| Weakest { metric, value, hint: hint.to_owned() });
        let row = ModuleRow {
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

    fn risks(&self, module: &Module, cells: &[&ObservedCell], measurement: &Measurement) -> Risks {
        let (n, well, flaky) = cells
            .iter()
            .fold((0, 0, 0), |sum, cell| (sum.0 + cell.n, sum.1 + cell.ended_well, sum.2 + cell.flaky));
        let share = |count: usize| if n == 0 { 0.0 } else { count as f64 / n as f64 };
        let deltas = self.history.modules.get(&module.path).and_then(|tracked| tracked.deltas.get(1..));
        Risks {
            error_rate: share(n - well),
            flaky_rate: share(flaky),
            severity: self.tracker.rules.severities.of(&module.path),
            deltas: deltas.unwrap_or_default().to_vec(),
            safety_rating: measurement.get("safety_rating"),
            security_score: measurement.get("security_score"),
            failures_of_100: failures_of_100(cells),
            ..Risks::default()
        }
    }

    /// The ROI of cells under one scenario: their robustness there is their reliability.
    fn under(&self, scenario: &str, cells: &[&ObservedCell], code: &Code) -> Option<f64> {
        let of_scenario: Vec<ObservedCell> = cells
            .iter()
            .filter(|cell| cell.scenario == scenario)
            .map(|cell| ObservedCell { kind: CellKind::Ordinary, ..(*cell).clone() })
            .collect();
        let measurement =
            measure(&of_scenario.iter().collect::<Vec<_>>(), code, self.economy, &self.history.best_cpu_ms);
        self.tracker.rules.profile.level(|name| measurement.get(name)).map(|level| level.roi)
    }

    fn scenarios(&self) -> Vec<ScenarioRow> {
        let all: Vec<&ObservedCell> = self.observed.iter().collect();
        let code = mean_code(&self.tracker.inventory.modules);
        let row = |scenario: String| {
            let roi = self.under(&scenario, &all, &code)?;
            Some(ScenarioRow { scenario, roi, delta: None })
        };
        names(&all).into_iter().filter_map(row).collect()
    }

    /// Profitability in the next cycle, this one included.
    fn projected(&self, metrics: &BTreeMap<String, f64>) -> Option<f64> {
        let mut series = self.history.series("profitability");
        series.extend(metrics.get("profitability"));
        let forecast = menace_tracker::forecast::forecast(&Question::next(&series)).ok()?;
        forecast.steps.first().map(|step| step.value.min(1.0))
    }

    fn discrepancies(&self, metrics: &BTreeMap<String, f64>) -> Vec<Discrepancy> {
        let inventory = self.tracker.inventory;
        let sections = inventory.modules.iter().flat_map(|module| {
            module.sections.iter().map(move |section| format!("{}:{}", module.name, section.name))
        });
        discrepancies(&Known {
            sections: sections.collect(),
            workflows: self.tracker.workflows.clone(),
            metrics: metrics.clone(),
            cycles: self.history.cycles.iter().map(|cycle| cycle.number).collect(),
            modules: inventory.modules.iter().map(|module| module.path.clone()).collect(),
            mapped: mapped(&self.tracker.configuration.data_directory()),
        })
    }
}

/// A row for every value of a cycle.
fn records(report: &RunReport, found: &CycleReport) -> Vec<MetricRecord> {
    let run = report.run.as_ref().map_or_else(String::new, ToString::to_string);
    let (cycle, at_ms) = (found.cycle as u64, now_ms());
    let record = |module: &str, scenario: &str, name: &str, value: f64| MetricRecord {
        run: run.clone(),
        cycle,
        at_ms,
        module: module.to_owned(),
        scenario: scenario.to_owned(),
        name: name.to_owned(),
        value,
    };
    let mut all: Vec<MetricRecord> = found.roi.iter().map(|roi| record("", "", "roi", *roi)).collect();
    all.extend(found.metrics.iter().map(|(name, value)| record("", "", name, *value)));
    all.extend(found.scenarios.iter().map(|row| record("", &row.scenario, "roi", row.roi)));
    for row in &found.modules {
        all.push(record(&row.module, "", "roi", row.raroi.roi));
        all.push(record(&row.module, "", "raroi", row.raroi.raroi));
        all.extend(row.metrics.iter().map(|(name, value)| record(&row.module, "", name, *value)));
        all.extend(row.scenarios.iter().map(|(scenario, roi)| record(&row.module, scenario, "roi", *roi)));
    }
    all
}

/// Modules of `module_map.json`; nothing if there is none.
fn mapped(directory: &Path) -> Option<BTreeSet<String>> {
    let text = std::fs::read_to_string(directory.join("module_map.json")).ok()?;
    let map: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(map.get("modules")?.as_object()?.keys().cloned().collect())
}

/// What was expected of this cycle before it was made.
fn expected(history: &History, metric: &str) -> Option<Expected> {
    history.next(metric, &[])?.steps.first().copied()
}

fn names(cells: &[&ObservedCell]) -> BTreeSet<String> {
    cells.iter().filter(|cell| cell.n > 0).map(|cell| cell.scenario.clone()).collect()
}

fn ranked(rows: Vec<ModuleRow>) -> Vec<ModuleRow> {
    let scored = rows.iter().map(|row| (row.module.clone(), row.raroi.raroi, row.confidence));
    let order = rank(scored);
    let mut by_name: BTreeMap<String, ModuleRow> =
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

fn code_of(module: &Module) -> Code {
    Code {
        maintainability: module.maintainability.map(|index| index / 100.0),
        code_quality: module.code_quality,
        security_score: module.security_score,
        entropy: module.entropy,
        churn: module.churn.as_ref().map(|churn| churn.ratio),
    }
}

/// The code of a repository: the mean of its modules.
fn mean_code(modules: &[Module]) -> Code {
    let mean = |value: fn(&Code) -> Option<f64>| {
        let values: Vec<f64> = modules.iter().filter_map(|module| value(&code_of(module))).collect();
        menace_tracker::statistics::mean(&values)
    };
    Code {
        maintainability: mean(|code| code.maintainability),
        code_quality: mean(|code| code.code_quality),
        security_score: mean(|code| code.security_score),
        entropy: mean(|code| code.entropy),
        churn: mean(|code| code.churn),
    }
}

fn observed(cell: &Cell) -> ObservedCell {
    let count = |kind: &str| cell.kinds.get(kind).copied().unwrap_or(0);
    let usage = &cell.usage;
    let kind = match usage.strategy {
        _ if usage.is_ordinary => CellKind::Ordinary,
        Some(Strategy::Hostile) => CellKind::Hostile,
        Some(Strategy::Misuse) => CellKind::Misuse,
        _ => CellKind::Fault,
    };
    let scenario = match &cell.severity {
        Some(severity) => format!("{} ({severity})", cell.scenario),
        None => cell.scenario.clone(),
    };
    ObservedCell {
        section: cell.section.clone(),
        scenario,
        kind,
        n: cell.n,
        ended_well: count("ok") + count("rejected"),
        flaky: count("flaky"),
        denied: count("denied"),
        cpu_seconds: usage.cpu_seconds,
        gb_seconds: usage.gb_seconds,
        cpu_ms_of_ok: usage.cpu_ms_of_ok,
        throughput: usage.throughput,
        network_latency_ms: cell.network_latency_ms,
        recovery: cell.recovery.map(|recovery| ObservedRecovery {
            before: recovery.before,
            after: recovery.after,
            seconds: recovery.recovery_ms.map(|milliseconds| milliseconds / 1e3),
        }),
        shapes: (usage.shapes_offered, usage.shapes_handled),
    }
}

/// Whether synergy of a history has come to rest.
pub(crate) fn synergy_rests(configuration: &Configuration, history: &History) -> convergence::SynergyVerdict {
    let settings = &configuration.settings().synergy;
    let thresholds = Thresholds::of(configuration, history);
    let cycles = settings.synergy_cycles.unwrap_or(3) as usize;
    let rules = convergence::SynergyRules {
        threshold: thresholds.synergy,
        window: settings.synergy_ma_window.unwrap_or(cycles),
        confidence: settings.synergy_confidence.get(),
        stationarity_confidence: settings.synergy_stationarity_confidence.get(),
        variance_confidence: settings.synergy_variance_confidence.get(),
    };
    convergence::synergy_converged(&history.series("synergy_roi"), &rules)
}
