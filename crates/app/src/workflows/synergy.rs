//! What sections are together, compared with each alone: every metric that workflows have.

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

/// What was seen of some steps under all scenarios.
pub(super) struct WorkflowScenarioResults {
    code: CombinedMeasures,
    churn: Option<f64>,
    pub(super) cells: Vec<(CellKind, WorkflowCell)>,
}

/// The difference, over everything and under each scenario.
#[derive(Debug, Default)]
pub(super) struct SynergyDifference {
    pub(super) overall: WorkflowMetricValues,
    pub(super) scenarios: BTreeMap<String, WorkflowMetricValues>,
}

/// What reading code says is the same under all scenarios.
const OF_CODE: [&str; 4] =
    ["synergy_code_quality", "synergy_maintainability", "synergy_security_score", "synergy_shannon_entropy"];

/// Ordinary circumstances, and the scenarios that are named; `all` are those of `menace run-scenarios` and misuse.
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
    /// Makes steps under each preset.
    pub(super) async fn of(
        laboratory: &WorkflowRunContext<'_>,
        steps: &[String],
        presets: &[Preset],
    ) -> Result<Self, AppError> {
        let mut cells = Vec::new();
        for preset in presets {
            let circumstances = StressProfile::of(preset, CallsPerCell::default());
            let kind = match circumstances.strategy {
                _ if circumstances.is_baseline => CellKind::Ordinary,
                InputStrategy::Hostile => CellKind::Hostile,
                InputStrategy::Misuse => CellKind::Misuse,
                _ => CellKind::Fault,
            };
            cells.push((kind, laboratory.cell(steps, &circumstances, WorkflowMode::On).await?));
        }
        let (code, churn) = code_of(laboratory, steps)?;
        Ok(Self { code, churn, cells })
    }

    /// The cell in which nothing is done to the calls.
    pub(super) fn ordinary(&self) -> Option<&WorkflowCell> {
        self.cells.iter().find(|(kind, _)| *kind == CellKind::Ordinary).map(|(_, cell)| cell)
    }

    fn under(&self, scenario: &str) -> Option<&(CellKind, WorkflowCell)> {
        self.cells.iter().find(|(_, cell)| cell.scenario == scenario)
    }

    /// All metrics over some of its cells. Energy and revenue are those of one time: there are as many times alone as together.
    fn figures(
        &self,
        laboratory: &WorkflowRunContext<'_>,
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
        let economy = CallEconomics { prices: laboratory.prices, watts: laboratory.watts };
        let measured = measure(&observed.iter().collect::<Vec<_>>(), &code, &economy, &BTreeMap::new());
        let mut figures: WorkflowMetricValues =
            measured.metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let times: usize = observed.iter().map(|cell| cell.n).sum();
        for name in ["energy_consumption", "revenue"] {
            if let Some(value) = figures.get_mut(name) {
                *value /= times.max(1) as f64;
            }
        }
        // The best time of a section is not known here, see `efficiency`.
        figures.remove("efficiency");
        let level = laboratory.profile.level(|name| figures.get(name).copied());
        figures.extend(level.map(|level| ("roi".to_owned(), level.roi)));
        figures
    }
}

/// What parts are together beyond what they are alone.
pub(super) fn difference(
    laboratory: &WorkflowRunContext<'_>,
    together: &WorkflowScenarioResults,
    alone: &[WorkflowScenarioResults],
) -> SynergyDifference {
    if alone.is_empty() {
        return SynergyDifference::default();
    }
    let mut overall = compared(
        &together.figures(laboratory, &together.cells.iter().collect::<Vec<_>>()),
        &alone
            .iter()
            .map(|part| part.figures(laboratory, &part.cells.iter().collect::<Vec<_>>()))
            .collect::<Vec<_>>(),
    );
    overall.extend(efficiency(together, alone).map(|value| ("synergy_efficiency".to_owned(), value)));
    let counts = |made: &(CellKind, WorkflowCell)| made.1.n > 0;
    let scenarios = together.cells.iter().filter(|made| counts(made)).filter_map(|made| {
        let scenario = &made.1.scenario;
        let parts: Option<Vec<WorkflowMetricValues>> = alone
            .iter()
            .map(|part| Some(part.figures(laboratory, &[part.under(scenario).filter(|made| counts(made))?])))
            .collect();
        let mut figures = compared(&together.figures(laboratory, &[made]), &parts?);
        // Under a fault, reliability is that of this scenario.
        let robustness: Vec<Option<f64>> =
            alone.iter().map(|part| part.under(scenario).and_then(|(_, cell)| cell.robustness)).collect();
        figures.retain(|name, _| name != "synergy_reliability" && !OF_CODE.contains(&name.as_str()));
        figures.extend(
            robustness_synergy(made.1.robustness, &robustness)
                .map(|value| ("synergy_reliability".to_owned(), value)),
        );
        (!figures.is_empty()).then(|| (scenario.clone(), figures))
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

/// How near each step comes to its best time, together and alone. The best time is the shorter of the two.
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

/// The code of the modules of steps as one, and the mean of how much of them changed.
fn code_of(
    laboratory: &WorkflowRunContext<'_>,
    steps: &[String],
) -> Result<(CombinedMeasures, Option<f64>), AppError> {
    let inventory = &laboratory.scan.inventory;
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
