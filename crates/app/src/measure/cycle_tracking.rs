//! Tracking of runs: their metrics and ROI, and micro-pilots of borderline modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use menace_model::ids::RunId;
use menace_model::inventory::Inventory;
use menace_model::settings::MicropilotMode;
use menace_runner::{RunEnd, RunReport};
use menace_store::{PatchState, RunState, Store};
use menace_tracker::roi::PilotStatus;

use super::{absolute, run_once};
use crate::calling::{RepositoryExecutor, RunSettings, now_ms};
use crate::tracking::{
    CycleReport, CycleTracker, EnergyMeter, MetricsFile, RoiScoringRules, micropilot_decision,
};
use crate::{AppContext, AppError, AppEvent};

/// Inputs of tracking besides the report. Read before the first call, so that invalid files are reported early.
pub(crate) struct RunTrackingContext<'a> {
    context: &'a AppContext,
    inventory: &'a Inventory,
    rules: RoiScoringRules,
    metrics_file: MetricsFile,
    workflows: BTreeMap<String, Vec<String>>,
    patches: BTreeMap<String, (u64, u64)>,
    /// Test files with failing tests; `None` if the tests were not run.
    failing_suites: Option<BTreeSet<String>>,
}

impl<'a> RunTrackingContext<'a> {
    pub(crate) async fn of(
        context: &'a AppContext,
        inventory: &'a Inventory,
        store: &Store,
    ) -> Result<Self, AppError> {
        let stored = store.workflows().await?;
        Ok(Self {
            context,
            inventory,
            rules: RoiScoringRules::read(context, Path::new(&inventory.root))?,
            metrics_file: MetricsFile::read(context)?,
            workflows: stored.into_iter().map(|workflow| (workflow.name, workflow.steps)).collect(),
            patches: patches(inventory, store).await?,
            failing_suites: None,
        })
    }

    /// Sets the test files that have failing tests.
    pub(crate) fn with_failing_suites(self, failing_suites: BTreeSet<String>) -> Self {
        Self { failing_suites: Some(failing_suites), ..self }
    }

    pub(crate) async fn cycle(
        &self,
        forecast_log: Option<&Path>,
        end: &RunEnd,
        is_partial: bool,
        meter: &EnergyMeter,
        calling: &RepositoryExecutor,
    ) -> Result<Option<CycleReport>, AppError> {
        let RunEnd::Finished(report) = end else { return Ok(None) };
        let tracker = CycleTracker {
            context: self.context,
            inventory: self.inventory,
            rules: self.rules.clone(),
            metrics_file: &self.metrics_file,
            forecast_log,
            is_partial,
            workflows: self.workflows.clone(),
            patches: self.patches.clone(),
            failing_suites: self.failing_suites.clone(),
        };
        tracker.cycle(report, meter, calling).await.map(Some)
    }
}

/// Numbers of kept and of reverted patches of the modules of a repository, by path.
async fn patches(inventory: &Inventory, store: &Store) -> Result<BTreeMap<String, (u64, u64)>, AppError> {
    let root = absolute(&inventory.root)?.display().to_string();
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for patch in store.patches_of(&root).await? {
        for path in patch.detail.files.keys() {
            let (kept, reverted) = found.entry(path.clone()).or_default();
            match patch.state {
                PatchState::Kept => *kept += 1,
                PatchState::Reverted => *reverted += 1,
                PatchState::Rejected => {}
            }
        }
    }
    Ok(found)
}

/// Maximum number of micro-pilots in a cycle.
const MAX_PILOTS: usize = 3;
/// Offset of the seeds of micro-pilots, so that their calls differ from those of runs.
const PILOT_SEED_OFFSET: u64 = 1_000_003;

/// Runs borderline modules alone, with different calls, and promotes or rejects them, if micro-pilots are automatic.
pub(super) async fn pilots(
    tracking: &RunTrackingContext<'_>,
    settings: &RunSettings,
    calling: &RepositoryExecutor,
    store: &Store,
    cycle: &mut CycleReport,
) -> Result<(), AppError> {
    if tracking.context.settings().roi.micropilot_mode != MicropilotMode::Auto {
        return Ok(());
    }
    let waiting = cycle.modules.iter_mut().filter(|row| row.borderline == Some(PilotStatus::Candidate));
    for row in waiting.take(MAX_PILOTS) {
        tracking.context.emit(AppEvent::MicroPilotStarted { module: row.module.clone() });
        let mut alone = settings.clone();
        (alone.modules, alone.digest) = (vec![row.module.clone()], None);
        alone.seed = alone.seed.wrapping_add(PILOT_SEED_OFFSET);
        let meter = EnergyMeter::start();
        let (_, end) = run_once(tracking.context, tracking.inventory, &alone, calling, store).await?;
        let Some(pilot) = tracking.cycle(None, &end, true, &meter, calling).await? else { return Ok(()) };
        let found = pilot.modules.iter().find(|pilot| pilot.module == row.module);
        if let (Some(found), Some(confidence)) = (found, row.confidence) {
            let raroi = found.raroi.raroi;
            row.borderline =
                Some(micropilot_decision(tracking.context, &row.module, raroi, confidence, now_ms())?);
        }
    }
    Ok(())
}

/// The report of a run with its ROI, as it is printed and stored.
pub fn report_with_roi(
    report: &RunReport,
    cycle: Option<&CycleReport>,
) -> Result<serde_json::Value, AppError> {
    let mut value = serde_json::to_value(report)?;
    value["roi"] = serde_json::to_value(cycle)?;
    Ok(value)
}

/// Stores the ROI of a run beside its report.
pub(crate) async fn record_roi(
    store: &Store,
    id: &RunId,
    end: &RunEnd,
    cycle: Option<&CycleReport>,
) -> Result<(), AppError> {
    if let RunEnd::Finished(report) = end {
        let report = report_with_roi(report, cycle)?;
        store.set_run_state(id, RunState::Finished, Some(now_ms()), Some(&report)).await?;
    }
    Ok(())
}
