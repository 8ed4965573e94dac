//! Runs and what they are worth.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use menace_model::ids::RunId;
use menace_model::inventory::Inventory;
use menace_model::settings::MicropilotMode;
use menace_runner::{RunEnd, RunReport};
use menace_store::{PatchState, RunState, Store};
use menace_tracker::roi::PilotStatus;

use super::run_once;
use crate::calling::{RepositoryExecutor, RunSettings, now_ms};
use crate::configuration::Configuration;
use crate::terminal::note;
use crate::tracking::{
    CycleReport, CycleTracker, EnergyMeter, MetricsFile, RoiScoringRules, micropilot_decision,
};

/// What is needed to say what runs are worth. Read before the first call, so that wrong files are said at once.
pub(in crate::commands) struct RunTrackingContext<'a> {
    configuration: &'a Configuration,
    inventory: &'a Inventory,
    rules: RoiScoringRules,
    metrics_file: MetricsFile,
    workflows: BTreeMap<String, Vec<String>>,
    patches: BTreeMap<String, (u64, u64)>,
    /// Nothing before somebody has run the tests.
    failing_suites: Option<BTreeSet<String>>,
}

impl<'a> RunTrackingContext<'a> {
    pub(in crate::commands) async fn of(
        configuration: &'a Configuration,
        inventory: &'a Inventory,
        store: &Store,
    ) -> anyhow::Result<Self> {
        let stored = store.workflows().await?;
        Ok(Self {
            configuration,
            inventory,
            rules: RoiScoringRules::read(configuration, Path::new(&inventory.root))?,
            metrics_file: MetricsFile::read(configuration)?,
            workflows: stored.into_iter().map(|workflow| (workflow.name, workflow.steps)).collect(),
            patches: patches(inventory, store).await?,
            failing_suites: None,
        })
    }

    /// The same, by somebody who has run the tests: these files have some that do not pass.
    pub(in crate::commands) fn with_failing_suites(self, failing_suites: BTreeSet<String>) -> Self {
        Self { failing_suites: Some(failing_suites), ..self }
    }

    pub(in crate::commands) async fn cycle(
        &self,
        forecast_log: Option<&Path>,
        end: &RunEnd,
        is_partial: bool,
        meter: &EnergyMeter,
        calling: &RepositoryExecutor,
    ) -> anyhow::Result<Option<CycleReport>> {
        let RunEnd::Finished(report) = end else { return Ok(None) };
        let tracker = CycleTracker {
            configuration: self.configuration,
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

/// Patches that were kept in modules of a repository, and those that were taken back later, by path.
async fn patches(inventory: &Inventory, store: &Store) -> anyhow::Result<BTreeMap<String, (u64, u64)>> {
    let root = std::path::absolute(&inventory.root)?.display().to_string();
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

/// Candidates that get a small run of their own in each cycle.
const MOST_PILOTS: usize = 3;
/// Far enough from the seeds of runs that its calls are others.
const SEED_OF_PILOTS: u64 = 1_000_003;

/// Modules that are borderline are run alone, with other calls, and promoted or given up, if that is wanted at once.
pub(super) async fn pilots(
    worth: &RunTrackingContext<'_>,
    settings: &RunSettings,
    calling: &RepositoryExecutor,
    store: &Store,
    cycle: &mut CycleReport,
) -> anyhow::Result<()> {
    if worth.configuration.settings().roi.micropilot_mode != MicropilotMode::Auto {
        return Ok(());
    }
    let waiting = cycle.modules.iter_mut().filter(|row| row.borderline == Some(PilotStatus::Candidate));
    for row in waiting.take(MOST_PILOTS) {
        note(&format!("micro-pilot: {}", row.module));
        let mut alone = settings.clone();
        (alone.modules, alone.digest) = (vec![row.module.clone()], None);
        alone.seed = alone.seed.wrapping_add(SEED_OF_PILOTS);
        let meter = EnergyMeter::start();
        let (_, end) = run_once(worth.inventory, &alone, calling, store).await?;
        let Some(pilot) = worth.cycle(None, &end, true, &meter, calling).await? else { return Ok(()) };
        let found = pilot.modules.iter().find(|pilot| pilot.module == row.module);
        if let (Some(found), Some(confidence)) = (found, row.confidence) {
            let raroi = found.raroi.raroi;
            row.borderline =
                Some(micropilot_decision(worth.configuration, &row.module, raroi, confidence, now_ms())?);
        }
    }
    Ok(())
}

/// The report with what the run is worth, as it is printed and stored.
pub(super) fn with_worth(
    report: &RunReport,
    cycle: Option<&CycleReport>,
) -> anyhow::Result<serde_json::Value> {
    let mut value = serde_json::to_value(report)?;
    value["roi"] = serde_json::to_value(cycle)?;
    Ok(value)
}

/// Stores what a run is worth beside what it found.
pub(in crate::commands) async fn keep(
    store: &Store,
    id: &RunId,
    end: &RunEnd,
    cycle: Option<&CycleReport>,
) -> anyhow::Result<()> {
    if let RunEnd::Finished(report) = end {
        let report = with_worth(report, cycle)?;
        store.set_run_state(id, RunState::Finished, Some(now_ms()), Some(&report)).await?;
    }
    Ok(())
}
