//! Second half of a cycle: proposals and their verification.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use menace_analysis::orphans::OrphanOptions;
use menace_engine::budget::{Budget, BudgetLimits};
use menace_engine::cycle::{CycleOptions, CycleResult, CycleRunner};
use menace_engine::ledger::Ledger;
use menace_engine::workbench::CallPlanOptions;
use menace_model::inventory::Inventory;
use menace_runner::RunReport;

use super::driver::{AutoCycleContext, AutoRunDriver};
use super::local_workbench::LocalWorkbench;
use super::proposers::ProposerSetup;
use super::run_state::StartedCycle;
use super::{progress, recall, review_rules};
use crate::AppError;
use crate::calling::{RunSettings, now_ms};
use crate::repository::{cache_directory, orphan_options};
use crate::tracking::CycleReport;

/// Maximum loss of robustness under any scenario.
const MARGIN: f64 = 0.02;

impl AutoRunDriver<'_> {
    /// Requests proposals, verifies them, and keeps those that are better.
    pub(super) async fn improve(
        &self,
        begun: &StartedCycle,
        settings: &RunSettings,
        inventory: &Inventory,
        cycle_context: &AutoCycleContext<'_>,
        budget: &mut Budget,
        (report, cycle_report): (&RunReport, Option<&CycleReport>),
    ) -> Result<CycleResult, AppError> {
        let AutoCycleContext { directory, tree, bus, previous } = cycle_context;
        let bench = self.bench();
        let repository = self.progress.repository.display().to_string();
        let ledger = Ledger::read(self.store, &repository, &self.id, begun.first).await?;
        let listener = tokio::spawn(progress::report_verdicts(self.context.clone(), bus.subscribe()));
        let recalled = recall::recall(self.context, self.store, &repository, begun.at_ms)?;
        let setup = ProposerSetup {
            context: self.context,
            directory,
            inventory,
            python: &self.progress.python,
            cycle_report,
            previous: *previous,
        };
        let mut runner = CycleRunner {
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
                price_per_cpu_second: self.context.settings().roi.price_per_cpu_second,
            },
            proposers: setup.proposers(Some(recalled))?,
            stop: self.context.interruption(),
            now_ms,
            ledger,
            alignment: review_rules::alignment(self.context, tree.root(), inventory)?,
            scores: review_rules::scores(self.context)?,
            memory: recall::memory(self.context, self.store)?,
            suites: self.suites.clone().filter(|(commit, _)| *commit == begun.base).map(|(_, suites)| suites),
            budget: std::mem::replace(
                budget,
                Budget::new(BudgetLimits::default(), Instant::now(), Duration::ZERO),
            ),
        };
        let ranking: BTreeMap<String, f64> = cycle_report
            .map(|cycle| cycle.modules.iter().map(|row| (row.module.clone(), row.raroi.raroi)).collect())
            .unwrap_or_default();
        let end = runner.cycle(report, &ranking).await;
        *budget = runner.budget;
        listener.abort();
        Ok(end?)
    }

    pub(super) fn bench(&self) -> LocalWorkbench {
        let excluded = &self.context.settings().scan.exclude_dirs;
        // Orphans must be classified before they can be excluded.
        let orphans = &self.context.settings().orphans;
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
