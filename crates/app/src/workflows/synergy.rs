//! Synergy: the metrics of sections run together, compared with each section alone.

use std::collections::{BTreeMap, BTreeSet};

use menace_analysis::scan::{CombinedMeasures, measure_combined};
use menace_model::presets::{CanonicalProfile, Preset, ProfileSeverity, canonical};
use menace_runner::{CallsPerCell, InputStrategy, StressProfile, WorkflowCell, WorkflowMode};
use menace_tracker::measure::{CallEconomics, CellKind, ObservedCell, StaticCodeMetrics, measure};
use menace_tracker::{robustness_synergy, synergy};

use super::run_context::WorkflowRunContext;
use crate::AppError;
use crate::error::FileContext;

/// Metrics by name, as `synergy_<metric>` when they are differences.
pub type WorkflowMetricValues = BTreeMap<String, f64>;

/// Results of some steps under all scenarios.
pub(super) struct WorkflowScenarioResults {
    code: CombinedMeasures,
    churn: Option<f64>,
    pub(super) cells: Vec<(CellKind, WorkflowCell)>,
}

/// Difference of the metrics, overall and by scenario.
#[derive(Debug, Default)]
pub(super) struct SynergyDifference {
    pub(super) overall: WorkflowMetricValues,
    pub(super) scenarios: BTreeMap<String, WorkflowMetricValues>,
}

/// Synergy of static metrics, which are the same under all scenarios.
const STATIC_METRICS: [&str; 4] =
    ["synergy_code_quality", "synergy_maintainability", "synergy_security_score", "synergy_shannon_entropy"];

/// The normal preset and the named scenarios; `all` stands for those of `menace run-scenarios` and misuse.
pub(super) fn presets(names: &[String]) -> Vec<Preset> {
    let known = [
        canonical(CanonicalProfile::ConcurrencySpike, ProfileSeverity::Low),
        canonical(CanonicalProfile::HostileInput, ProfileSeverity::Low),
        canonical(CanonicalProfile::SchemaDrift, ProfileSeverity::Low),
        canonical(CanonicalProfile::FlakyUpstream, ProfileSeverity::Low),
        canonical(CanonicalProfile::UserMisuse, ProfileSeverity::Low),
    ];
    let is_wanted = |preset: &Preset| names.iter().any(|name| name == "all" || name == preset.name());
    [Preset::named("normal")].into_iter().chain(known.into_iter().filter(is_wanted)).collect()
}

impl WorkflowScenarioResults {
    /// Runs steps under each preset.
    pub(super) async fn of(
        run_context: &WorkflowRunContext<'_>,
        steps: &[String],
        presets: &[Preset],
    ) -> Result<Self, AppError> {
        let mut cells = Vec::new();
        for preset in presets {
            let stress = StressProfile::of(preset, CallsPerCell::default());
            let kind = match stress.strategy {
                _ if stress.is_baseline => CellKind::Ordinary,
                InputStrategy::Hostile => CellKind::Hostile,
                InputStrategy::Misuse => CellKind::Misuse,
                _ => CellKind::Fault,
            };
            cells.push((kind, run_context.cell(steps, &stress, WorkflowMode::On).await?));
        }
        let (code, churn) = code_of(run_context, steps)?;
        Ok(Self { code, churn, cells })
    }

    /// The cell without stress.
    pub(super) fn ordinary(&self) -> Option<&WorkflowCell> {
        self.cells.iter().find(|(kind, _)| *kind == CellKind::Ordinary).map(|(_, cell)| cell)
    }

    fn under(&self, scenario: &str) -> Option<&(CellKind, WorkflowCell)> {
        self.cells.iter().find(|(_, cell)| cell.scenario == scenario)
    }

    /// Metrics over some of the cells. Energy and revenue are per run, so that runs alone and together are comparable.
    fn metrics(
        &self,
        run_context: &WorkflowRunContext<'_>,
        cells: &[&(CellKind, WorkflowCell)],
    ) -> WorkflowMetricValues {
        let observed: Vec<ObservedCell> = cells.iter().map(|(kind, cell)| observed(*kind, cell)).collect();
        let code = StaticCodeMetrics {
            maintainability: self.code.maintainability.map(|index| index / 100.0),
            code_quality: self.code.code_quality,
            security_score: self.code.security_score,
            entropy: self.code.entropy,
            churn: self.churn,
        };
        let economy = CallEconomics { prices: run_context.prices, watts: run_context.watts };
        let measured = measure(&observed.iter().collect::<Vec<_>>(), &code, &economy, &BTreeMap::new());
        let mut metrics: WorkflowMetricValues =
            measured.metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let times: usize = observed.iter().map(|cell| cell.n).sum();
        for name in ["energy_consumption", "revenue"] {
            if let Some(value) = metrics.get_mut(name) {
                *value /= times.max(1) as f64;
            }
        }
        // The best time of a section is unknown here; see `efficiency`.
        metrics.remove("efficiency");
        let level = run_context.profile.level(|name| metrics.get(name).copied());
        metrics.extend(level.map(|level| ("roi".to_owned(), level.roi)));
        metrics
    }
}

/// Difference between the metrics of parts together and alone.
pub(super) fn difference(
    run_context: &WorkflowRunContext<'_>,
    together: &WorkflowScenarioResults,
    alone: &[WorkflowScenarioResults],
) -> SynergyDifference {
    if alone.is_empty() {
        return SynergyDifference::default();
    }
    let mut overall = compared(
        &together.metrics(run_context, &together.cells.iter().collect::<Vec<_>>()),
        &alone
            .iter()
            .map(|part| part.metrics(run_context, &part.cells.iter().collect::<Vec<_>>()))
            .collect::<Vec<_>>(),
    );
    overall.extend(efficiency(together, alone).map(|value| ("synergy_efficiency".to_owned(), value)));
    let counts = |made: &(CellKind, WorkflowCell)| made.1.n > 0;
    let scenarios = together.cells.iter().filter(|made| counts(made)).filter_map(|made| {
        let scenario = &made.1.scenario;
        let parts: Option<Vec<WorkflowMetricValues>> = alone
            .iter()
            .map(|part| Some(part.metrics(run_context, &[part.under(scenario).filter(|made| counts(made))?])))
            .collect();
        let mut metrics = compared(&together.metrics(run_context, &[made]), &parts?);
        // Under a fault, reliability is that of this scenario.
        let robustness: Vec<Option<f64>> =
            alone.iter().map(|part| part.under(scenario).and_then(|(_, cell)| cell.robustness)).collect();
        metrics.retain(|name, _| name != "synergy_reliability" && !STATIC_METRICS.contains(&name.as_str()));
        metrics.extend(
            robustness_synergy(made.1.robustness, &robustness)
                .map(|value| ("synergy_reliability".to_owned(), value)),
        );
        (!metrics.is_empty()).then(|| (scenario.clone(), metrics))
    });
    SynergyDifference { overall, scenarios: scenarios.collect() }
}

fn compared(together: &WorkflowMetricValues, alone: &[WorkflowMetricValues]) -> WorkflowMetricValues {
    let of = |name: &str| -> Vec<Option<f64>> { alone.iter().map(|part| part.get(name).copied()).collect() };
    together
        .iter()
        .filter_map(|(name, value)| {
            let difference = match name.as_str() {
                "reliability" => robustness_synergy(Some(*value), &of(name)),
                _ => synergy(Some(*value), &of(name)),
            };
            Some((format!("synergy_{name}"), difference?))
        })
        .collect()
}

/// Synergy of efficiency: best time divided by actual time, together minus alone. The best time is the shorter of both.
fn efficiency(together: &WorkflowScenarioResults, alone: &[WorkflowScenarioResults]) -> Option<f64> {
    let parts = alone.iter().filter_map(WorkflowScenarioResults::ordinary).flat_map(|cell| &cell.steps);
    let differences: Vec<f64> = parts
        .filter_map(|part| {
            let same = |step: &&menace_runner::StepTelemetry| step.section == part.section;
            let beside = together.ordinary()?.steps.iter().find(same)?.time_ms.filter(|time| *time > 0.0)?;
            let by_itself = part.time_ms.filter(|time| *time > 0.0)?;
            let best = beside.min(by_itself);
            Some(best / beside - best / by_itself)
        })
        .collect();
    menace_tracker::statistics::mean(&differences)
}

fn observed(kind: CellKind, cell: &WorkflowCell) -> ObservedCell {
    let count = |kind: &str| cell.kinds.get(kind).copied().unwrap_or(0);
    ObservedCell {
        section: String::new(),
        scenario: cell.scenario.clone(),
        kind,
        n: cell.n,
        ended_well: cell.ended_well(),
        flaky: count("flaky"),
        denied: count("denied"),
        cpu_seconds: cell.cpu_seconds,
        gb_seconds: cell.gb_seconds,
        throughput: cell.wall_ms.filter(|wall| *wall > 0.0).map(|wall| 1e3 / wall),
        ..ObservedCell::default()
    }
}

/// Static metrics of the modules of steps, combined, and their mean churn.
fn code_of(
    run_context: &WorkflowRunContext<'_>,
    steps: &[String],
) -> Result<(CombinedMeasures, Option<f64>), AppError> {
    let inventory = &run_context.scan.inventory;
    let names: BTreeSet<&str> = steps.iter().filter_map(|step| Some(step.split_once(':')?.0)).collect();
    let mut read = Vec::new();
    for module in inventory.modules.iter().filter(|module| names.contains(module.name.as_str())) {
        let path = std::path::Path::new(&inventory.root).join(&module.path);
        let text = std::fs::read(&path).file("read", &path)?;
        read.push((module, text));
    }
    let churn: Vec<f64> = read.iter().filter_map(|(module, _)| Some(module.churn.as_ref()?.ratio)).collect();
    Ok((measure_combined(&read), menace_tracker::statistics::mean(&churn)))
}
