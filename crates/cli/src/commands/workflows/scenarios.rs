//! `menace run-scenarios` and `menace simulate-temporal-trajectory`.

use menace_model::presets::{CanonicalProfile, Preset, ProfileSeverity, canonical, read};
use menace_runner::{CallsPerCell, StressProfile, WorkflowMode};
use menace_tracker::foresight::WorkflowForecast;
use menace_tracker::statistics::standard_deviation;
use serde::Serialize;

use crate::arguments::WorkflowStressArguments;
use crate::calling::runtime;
use crate::commands::reading::ScanPurpose;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{print, print_json};

use super::laboratory::{WorkflowRunContext, steps_of};
use super::reports;

/// A scenario with the workflow and without it.
#[derive(Debug, Serialize)]
pub(super) struct WorkflowScenarioRow {
    pub(super) scenario: String,
    pub(super) n: usize,
    pub(super) robustness: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) roi: Option<f64>,
    pub(super) roi_off: Option<f64>,
    pub(super) roi_delta: Option<f64>,
    pub(super) void_reason: Option<String>,
    pub(super) failure: Option<String>,
}

#[derive(Debug, Serialize)]
struct WorkflowScenarioReport<'a> {
    version: u32,
    workflow: &'a str,
    steps: &'a [String],
    seed: u64,
    worst_scenario: Option<&'a str>,
    scenarios: &'a [WorkflowScenarioRow],
}

/// A stage of a system that gets worse.
#[derive(Debug, Serialize)]
pub(super) struct TrajectoryStageRow {
    pub(super) stage: String,
    pub(super) n: usize,
    pub(super) robustness: Option<f64>,
    pub(super) roi: Option<f64>,
    pub(super) resilience: Option<f64>,
    pub(super) degradation: Option<f64>,
    pub(super) stability: Option<f64>,
    pub(super) void_reason: Option<String>,
    pub(super) failure: Option<String>,
}

#[derive(Debug, Serialize)]
struct TrajectoryReport<'a> {
    version: u32,
    workflow: &'a str,
    steps: &'a [String],
    seed: u64,
    stages: &'a [TrajectoryStageRow],
    /// What is to be expected after all trajectories of this workflow.
    outlook: Option<&'a WorkflowForecast>,
}

pub(in crate::commands) fn run_scenarios(
    configuration: &Configuration,
    arguments: &WorkflowStressArguments,
) -> anyhow::Result<MenaceExit> {
    let presets = [
        Preset::named("normal"),
        canonical(CanonicalProfile::ConcurrencySpike, ProfileSeverity::Low),
        canonical(CanonicalProfile::HostileInput, ProfileSeverity::Low),
        canonical(CanonicalProfile::SchemaDrift, ProfileSeverity::Low),
        canonical(CanonicalProfile::FlakyUpstream, ProfileSeverity::Low),
    ];
    runtime()?.block_on(async {
        let (name, steps) = steps_of(configuration, &arguments.workflow).await?;
        let laboratory =
            WorkflowRunContext::open(configuration, &arguments.common, ScanPurpose::Inventory).await?;
        let mut rows = Vec::new();
        for preset in &presets {
            rows.push(scenario(&laboratory, &steps, preset).await?);
        }
        let worst = worst(&rows).map(str::to_owned);
        if arguments.common.output.json {
            print_json(&WorkflowScenarioReport {
                version: 1,
                workflow: &name,
                steps: &steps,
                seed: arguments.common.seed,
                worst_scenario: worst.as_deref(),
                scenarios: &rows,
            })?;
        } else {
            print(&reports::scenarios(&name, &rows, worst.as_deref()))?;
        }
        let fails = rows.iter().any(|row| row.failure.is_some());
        Ok(if fails { MenaceExit::Found } else { MenaceExit::Done })
    })
}

async fn scenario(
    laboratory: &WorkflowRunContext<'_>,
    steps: &[String],
    preset: &Preset,
) -> anyhow::Result<WorkflowScenarioRow> {
    let circumstances = StressProfile::of(preset, CallsPerCell::default());
    let on = laboratory.cell(steps, &circumstances, WorkflowMode::On).await?;
    let off = laboratory.cell(steps, &circumstances, WorkflowMode::Off).await?;
    let (roi, roi_off) = (laboratory.roi(&on), laboratory.roi_of_nothing(&off));
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

pub(in crate::commands) fn trajectory(
    configuration: &Configuration,
    arguments: &WorkflowStressArguments,
) -> anyhow::Result<MenaceExit> {
    let stages = read(
        r#"[{"SCENARIO_NAME": "normal"},
            {"SCENARIO_NAME": "high_latency", "FAILURE_MODES": ["high_latency"], "NETWORK_LATENCY_MS": 200},
            {"SCENARIO_NAME": "resource_strain", "FAILURE_MODES": ["resource_strain"], "CPU_LIMIT": "0.2"},
            {"SCENARIO_NAME": "schema_drift", "FAILURE_MODES": ["schema_drift"], "SCHEMA_MISMATCHES": 5,
             "SCHEMA_CHECKS": 100},
            {"SCENARIO_NAME": "chaotic_failure", "FAILURE_MODES": ["chaotic_failure"]}]"#,
    )?;
    runtime()?.block_on(async {
        let (name, steps) = steps_of(configuration, &arguments.workflow).await?;
        let laboratory =
            WorkflowRunContext::open(configuration, &arguments.common, ScanPurpose::Inventory).await?;
        let mut rows: Vec<TrajectoryStageRow> = Vec::new();
        for preset in &stages {
            rows.push(stage(&laboratory, &steps, preset, &rows).await?);
        }
        let root = std::path::Path::new(&laboratory.scan.inventory.root);
        let outlook = super::foresight::record(configuration, root, &name, &rows)?;
        if arguments.common.output.json {
            print_json(&TrajectoryReport {
                version: 1,
                workflow: &name,
                steps: &steps,
                seed: arguments.common.seed,
                stages: &rows,
                outlook: outlook.as_ref(),
            })?;
        } else {
            print(&(reports::trajectory(&name, &rows) + &reports::outlook(outlook.as_ref())))?;
        }
        let fails = rows.iter().any(|row| row.failure.is_some());
        Ok(if fails { MenaceExit::Found } else { MenaceExit::Done })
    })
}

/// One stage: its ROI, how much of the first one's robustness is left (resilience), how much ROI is lost (degradation), and
/// how steady the ROI has been so far.
async fn stage(
    laboratory: &WorkflowRunContext<'_>,
    steps: &[String],
    preset: &Preset,
    before: &[TrajectoryStageRow],
) -> anyhow::Result<TrajectoryStageRow> {
    let cell =
        laboratory.cell(steps, &StressProfile::of(preset, CallsPerCell::default()), WorkflowMode::On).await?;
    let roi = laboratory.roi(&cell);
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
