//! Scenarios and trajectories of a workflow.

use menace_model::presets::{CanonicalProfile, Preset, ProfileSeverity, canonical, read};
use menace_runner::{CallsPerCell, StressProfile, WorkflowMode};
use menace_tracker::foresight::WorkflowForecast;
use menace_tracker::statistics::standard_deviation;
use serde::Serialize;

use crate::repository::ScanPurpose;

use super::WorkflowRequest;
use super::run_context::{WorkflowRunContext, steps_of};
use crate::{AppContext, AppError};

/// A workflow under one scenario, with its steps and without them.
#[derive(Debug, Serialize)]
pub struct WorkflowScenarioRow {
    /// Name of the scenario.
    pub scenario: String,
    /// Number of valid runs.
    pub n: usize,
    /// Share of runs without a failure.
    pub robustness: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// ROI with the steps.
    pub roi: Option<f64>,
    /// ROI without the steps.
    pub roi_off: Option<f64>,
    /// Difference between `roi` and `roi_off`.
    pub roi_delta: Option<f64>,
    /// Reason why no run is valid.
    pub void_reason: Option<String>,
    /// The first failure.
    pub failure: Option<String>,
}

/// A workflow under the five scenarios.
#[derive(Debug, Serialize)]
pub struct ScenarioReport {
    version: u32,
    /// Name of the workflow.
    pub workflow: String,
    /// Its steps.
    pub steps: Vec<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Scenario with the lowest ROI difference.
    pub worst_scenario: Option<String>,
    /// Results by scenario.
    pub scenarios: Vec<WorkflowScenarioRow>,
}

/// A workflow in one stage of growing stress.
#[derive(Debug, Serialize)]
pub struct TrajectoryStageRow {
    /// Name of the stage.
    pub stage: String,
    /// Number of valid runs.
    pub n: usize,
    /// Share of runs without a failure.
    pub robustness: Option<f64>,
    /// ROI of the stage.
    pub roi: Option<f64>,
    /// Robustness relative to the first stage.
    pub resilience: Option<f64>,
    /// ROI lost since the first stage.
    pub degradation: Option<f64>,
    /// Steadiness of the ROI so far.
    pub stability: Option<f64>,
    /// Reason why no run is valid.
    pub void_reason: Option<String>,
    /// The first failure.
    pub failure: Option<String>,
}

/// A workflow under five stages of growing stress.
#[derive(Debug, Serialize)]
pub struct TrajectoryReport {
    version: u32,
    /// Name of the workflow.
    pub workflow: String,
    /// Its steps.
    pub steps: Vec<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Results by stage.
    pub stages: Vec<TrajectoryStageRow>,
    /// Forecast from all trajectories of the workflow.
    pub outlook: Option<WorkflowForecast>,
}

/// Runs a workflow under the five scenarios, with its steps and without them.
pub async fn run_scenarios(
    context: &AppContext,
    request: &WorkflowRequest,
) -> Result<ScenarioReport, AppError> {
    let presets = [
        Preset::named("normal"),
        canonical(CanonicalProfile::ConcurrencySpike, ProfileSeverity::Low),
        canonical(CanonicalProfile::HostileInput, ProfileSeverity::Low),
        canonical(CanonicalProfile::SchemaDrift, ProfileSeverity::Low),
        canonical(CanonicalProfile::FlakyUpstream, ProfileSeverity::Low),
    ];
    let (workflow, steps) = steps_of(context, &request.workflow).await?;
    let run_context = WorkflowRunContext::open(context, request, ScanPurpose::Inventory).await?;
    let mut scenarios = Vec::new();
    for preset in &presets {
        scenarios.push(scenario(&run_context, &steps, preset).await?);
    }
    let worst_scenario = worst(&scenarios).map(str::to_owned);
    Ok(ScenarioReport { version: 1, workflow, steps, seed: request.seed, worst_scenario, scenarios })
}

async fn scenario(
    run_context: &WorkflowRunContext<'_>,
    steps: &[String],
    preset: &Preset,
) -> Result<WorkflowScenarioRow, AppError> {
    let stress = StressProfile::of(preset, CallsPerCell::default());
    let on = run_context.cell(steps, &stress, WorkflowMode::On).await?;
    let off = run_context.cell(steps, &stress, WorkflowMode::Off).await?;
    let (roi, roi_off) = (run_context.roi(&on), run_context.roi_without_steps(&off));
    Ok(WorkflowScenarioRow {
        scenario: on.scenario.clone(),
        n: on.n,
        robustness: on.robustness,
        interval: on.interval,
        roi,
        roi_off,
        roi_delta: roi.zip(roi_off).map(|(on, off)| on - off),
        failure: on
            .steps
            .iter()
            .find_map(|step| step.failure.as_ref().map(|failure| format!("{}: {failure}", step.section))),
        void_reason: on.void_reason,
    })
}

/// The scenario with the lowest delta.
fn worst(rows: &[WorkflowScenarioRow]) -> Option<&str> {
    let measured = rows.iter().filter_map(|row| Some((row.roi_delta?, row.scenario.as_str())));
    measured.min_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, scenario)| scenario)
}

/// Runs a workflow under five stages of growing stress, and adds the trajectory to the foresight history.
pub async fn simulate_trajectory(
    context: &AppContext,
    request: &WorkflowRequest,
) -> Result<TrajectoryReport, AppError> {
    let stages = read(
        r#"[{"SCENARIO_NAME": "normal"},
            {"SCENARIO_NAME": "high_latency", "FAILURE_MODES": ["high_latency"], "NETWORK_LATENCY_MS": 200},
            {"SCENARIO_NAME": "resource_strain", "FAILURE_MODES": ["resource_strain"], "CPU_LIMIT": "0.2"},
            {"SCENARIO_NAME": "schema_drift", "FAILURE_MODES": ["schema_drift"], "SCHEMA_MISMATCHES": 5,
             "SCHEMA_CHECKS": 100},
            {"SCENARIO_NAME": "chaotic_failure", "FAILURE_MODES": ["chaotic_failure"]}]"#,
    )?;
    let (workflow, steps) = steps_of(context, &request.workflow).await?;
    let run_context = WorkflowRunContext::open(context, request, ScanPurpose::Inventory).await?;
    let mut rows: Vec<TrajectoryStageRow> = Vec::new();
    for preset in &stages {
        rows.push(stage(&run_context, &steps, preset, &rows).await?);
    }
    let root = std::path::Path::new(&run_context.scan.inventory.root);
    let outlook = super::foresight::record(context, root, &workflow, &rows)?;
    Ok(TrajectoryReport { version: 1, workflow, steps, seed: request.seed, stages: rows, outlook })
}

/// Runs one stage: ROI, robustness relative to the first stage (resilience), ROI lost since the first stage
/// (degradation), and stability of the ROI so far.
async fn stage(
    run_context: &WorkflowRunContext<'_>,
    steps: &[String],
    preset: &Preset,
    before: &[TrajectoryStageRow],
) -> Result<TrajectoryStageRow, AppError> {
    let cell = run_context
        .cell(steps, &StressProfile::of(preset, CallsPerCell::default()), WorkflowMode::On)
        .await?;
    let roi = run_context.roi(&cell);
    let first = before.first().map_or(roi, |first| first.roi);
    let first_robustness = before.first().map_or(cell.robustness, |first| first.robustness);
    let resilience = match (cell.robustness, first_robustness) {
        (Some(now), Some(first)) if first > 0.0 => Some((now / first).min(1.0)),
        _ => None,
    };
    let levels: Vec<f64> = before.iter().map(|row| row.roi).chain([roi]).flatten().collect();
    Ok(TrajectoryStageRow {
        stage: cell.scenario.clone(),
        n: cell.n,
        robustness: cell.robustness,
        roi,
        resilience,
        degradation: roi.zip(first).map(|(now, first)| first - now),
        stability: roi.map(|_| (1.0 - standard_deviation(&levels).unwrap_or(0.0)).max(0.0)),
        failure: cell
            .steps
            .iter()
            .find_map(|step| step.failure.as_ref().map(|failure| format!("{}: {failure}", step.section))),
        void_reason: cell.void_reason,
    })
}
