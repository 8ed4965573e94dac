//! What a loop works with when it looks for something better.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use menace_analysis::orphans::OrphanOptions;
use menace_engine::budget::{Budget, BudgetLimits};
use menace_engine::cycle::{CycleOptions, CycleResult, CycleRunner};
use menace_engine::ledger::Ledger;
use menace_engine::workbench::CallPlanOptions;
use menace_model::inventory::Inventory;
use menace_runner::RunReport;

use super::asked::ProposerSetup;
use super::bench::LocalWorkbench;
use super::drive::{AutoCycleContext, AutoRunDriver};
use super::state::StartedCycle;
use super::{remembered, rules, tell};
use crate::calling::{RunSettings, asked_to_stop, now_ms};
use crate::commands::reading::{cache_directory, orphan_options};
use crate::tracking::CycleReport;

/// How much worse a scenario may be.
const MARGIN: f64 = 0.02;

impl AutoRunDriver<'_> {
    /// Lets everybody propose, and keeps what is better.
    pub(super) async fn improve(
        &self,
        begun: &StartedCycle,
        settings: &RunSettings,
        inventory: &Inventory,
        around: &AutoCycleContext<'_>,
        budget: &mut Budget,
        (report, worth): (&RunReport, Option<&CycleReport>),
    ) -> anyhow::Result<CycleResult> {
        let AutoCycleContext { directory, tree, bus, previous } = around;
        let bench = self.bench();
        let repository = self.progress.repository.display().to_string();
        let ledger = Ledger::read(self.store, &repository, &self.id, begun.first).await?;
        let listener = tokio::spawn(tell::listen(bus.subscribe()));
        let recall = remembered::recall(self.configuration, self.store, &repository, begun.at_ms)?;
        let asked = ProposerSetup {
            configuration: self.configuration,
            directory,
            inventory,
            python: &self.progress.python,
            worth,
            previous: *previous,
        };
        let mut improver = CycleRunner {
            workbench: &bench,
            store: self.store,
            tree,
            bus,
            run: self.id.clone(),
            repository,
            left_alone: begun.left_alone.iter().cloned().collect(),
            calls: CallPlanOptions {
                presets: settings.planned_presets()?,
                given: settings.given.clone(),
                source: settings.source,
                timeout: settings.timeout(),
                modules: settings.modules.clone(),
            },
            options: CycleOptions {
                seed: settings.seed,
                margin: MARGIN,
                allow_behaviour_change: self.progress.allow_behaviour_change,
                price_per_cpu_second: self.configuration.settings().roi.price_per_cpu_second,
            },
            proposers: asked.proposers(Some(recall))?,
            stop: asked_to_stop(),
            now_ms,
            ledger,
            alignment: rules::alignment(self.configuration, tree.root(), inventory)?,
            scores: rules::scores(self.configuration)?,
            memory: remembered::memory(self.configuration, self.store)?,
            suites: self.suites.clone().filter(|(commit, _)| *commit == begun.base).map(|(_, suites)| suites),
            budget: std::mem::replace(
                budget,
                Budget::new(BudgetLimits::default(), Instant::now(), Duration::ZERO),
            ),
        };
        let ranking: BTreeMap<String, f64> = worth
            .map(|worth| worth.modules.iter().map(|row| (row.module.clone(), row.raroi.raroi)).collect())
            .unwrap_or_default();
        let end = improver.cycle(report, &ranking).await;
        *budget = improver.budget;
        listener.abort();
        Ok(end?)
    }

    pub(super) fn bench(&self) -> LocalWorkbench {
        let excluded = &self.configuration.settings().scan.exclude_dirs;
        // Orphans that are left out have to be found first.
        let orphans = &self.configuration.settings().orphans;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        LocalWorkbench {
            python: self.progress.python.clone(),
            exclude: excluded.iter().chain(&self.progress.exclude).cloned().collect(),
            cache: cache_directory(),
            orphans: OrphanOptions { enabled: !orphans.disable_orphan_scan, ..orphan_options(orphans) },
            parallel: cores * 2,
        }
    }
}
