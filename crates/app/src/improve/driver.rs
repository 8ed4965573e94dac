//! Driver of a run: executes cycles until a stop reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use menace_engine::budget::{Budget, BudgetLimits};
use menace_engine::cycle::{CycleResult, CycleStop};
use menace_engine::events::{RunEvent, RunEventBus};
use menace_engine::verify::BaselineSuites;
use menace_engine::workbench::Workbench;
use menace_engine::worktree::Worktree;
use menace_model::ids::RunId;
use menace_model::inventory::Inventory;
use menace_runner::{RunEnd, RunReport};
use menace_store::{RunState, Store};
use tracing::{Instrument, info_span};

use super::cycle_summary::AutoCycleSummary;
use super::elapsed_time::{self, ElapsedTimeWriter};
use super::ideas;
use super::orphan_selection::{self, CycleModuleSelection};
use super::preset_adaptation::{adapt_presets, settings_of_started_cycle};
use super::progress;
use super::proposers;
use super::run_lock::directory_of;
use super::run_report::{self, AutoRunReport};
use super::run_state::{AutoRunState, StartedCycle};
use super::stop_reason::{FinishedCycle, RunStopReason, convergence_reason};
use super::unchanged_modules::unchanged_modules;
use super::{AutoEnd, AutoRequest};
use crate::calling::RepositoryInterpreter;
use crate::calling::{RepositoryExecutor, RunSettings, now_ms};
use crate::measure::{
    RunTrackingContext, absolute, continue_run, new_id, record_roi, record_start, run_settings,
};
use crate::tracking::{CycleReport, EnergyMeter, read_history_or_empty, synergy_rests};
use crate::{AppContext, AppError, AppEvent, RequestError};

/// Default interpreter if none was selected, found on `PATH`.
const DEFAULT_PYTHON: &str = "python3";
/// Interpreter of the system.
const SYSTEM_PYTHON: &str = "/usr/bin/python3";
/// Maximum number of calls for shrinking one failure: proposals need a small input, not the smallest.
const SHRINK_CALLS: usize = 32;

pub(super) struct AutoRunDriver<'a> {
    pub(super) context: &'a AppContext,
    pub(super) request: &'a AutoRequest,
    pub(super) store: &'a Store,
    pub(super) id: RunId,
    pub(super) began_ms: i64,
    pub(super) progress: AutoRunState,
    /// Test files with failing tests when the run started.
    pub(super) failing_suites: BTreeSet<String>,
    /// Commit and its test results, so that the tests are not run again for it.
    pub(super) suites: Option<(String, BaselineSuites)>,
}

/// Context of a cycle.
pub(super) struct AutoCycleContext<'a> {
    /// The directory of the run.
    pub(super) directory: &'a Path,
    pub(super) tree: &'a Worktree,
    pub(super) bus: &'a RunEventBus,
    /// Metrics of the modules in the previous cycle.
    pub(super) previous: Option<&'a BTreeMap<String, BTreeMap<String, f64>>>,
}

/// Result of a finished cycle.
struct AutoCycleResult {
    report: Box<RunReport>,
    cycle_report: Option<CycleReport>,
    end: CycleResult,
    seconds: f64,
}

impl AutoRunDriver<'_> {
    pub(super) async fn run(mut self) -> Result<AutoEnd, AppError> {
        let began = Instant::now();
        let directory = absolute(directory_of(self.context, &self.id))?;
        let branch = format!("menace/{}", self.id);
        let unix_seconds = self.began_ms / 1000;
        let tree =
            Worktree::open(&self.progress.repository, &directory.join("tree"), &branch, unix_seconds).await?;
        self.context.emit(AppEvent::AutoStarted {
            run: self.id.clone(),
            repository: self.progress.repository.clone(),
            branch: branch.clone(),
        });
        self.check_tests(&tree).instrument(info_span!("tests")).await?;
        self.context.emit(AppEvent::ProposersChosen(proposers::model_choice(self.context)));
        let bus = RunEventBus::new(self.store.clone(), self.id.clone());
        let limits = BudgetLimits {
            time: self.request.max_time,
            cost: self.request.max_cost,
            tokens: self.request.max_tokens,
        };
        // A killed run had no time to save its elapsed time in the store.
        let seconds = elapsed_time::elapsed(&directory).unwrap_or(0.0).max(self.progress.seconds);
        let before = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let _clock = ElapsedTimeWriter::start(&directory, began, before);
        let mut budget = Budget::new(limits, began, before);
        if let Some(last) = self.progress.begun.last() {
            budget.spent_before(last.tokens, last.money);
        }
        let mut cycles: Vec<AutoCycleResult> = Vec::new();
        let stop = loop {
            let number = self.next_cycle_number(&cycles);
            let previous =
                cycles.last().and_then(|cycle| cycle.cycle_report.as_ref()).map(proposers::measured);
            let cycle_context = AutoCycleContext {
                directory: &directory,
                tree: &tree,
                bus: &bus,
                previous: previous.as_ref(),
            };
            let cycle = self
                .cycle(number, &cycle_context, &mut budget)
                .instrument(info_span!("cycle", number = number.cast_signed()));
            match cycle.await? {
                None => {
                    break budget
                        .stop_reason(Instant::now())
                        .map_or(RunStopReason::Interrupted, RunStopReason::Budget);
                }
                Some(cycle) => cycles.push(cycle),
            }
            self.ideas(&cycles, &cycle_context, &mut budget).await?;
            if let Some(stop) = self.stop(&cycles, number, &budget) {
                break stop;
            }
        };
        self.progress.seconds = budget.elapsed(Instant::now()).as_secs_f64();
        self.progress.save(self.store, &self.id).await?;
        self.end(tree, &bus, &directory, (stop, budget.spent())).await
    }

    /// Requests ideas if they are due.
    async fn ideas(
        &self,
        cycles: &[AutoCycleResult],
        cycle_context: &AutoCycleContext<'_>,
        budget: &mut Budget,
    ) -> Result<(), AppError> {
        let Some(last) = cycles.last() else { return Ok(()) };
        let is_low = |cycle: &&AutoCycleResult| {
            cycle.cycle_report.as_ref().is_some_and(|cycle_report| {
                cycle_report.delta.is_some_and(|delta| delta <= cycle_report.roi_threshold)
            })
        };
        let so_far = ideas::IdeaRequestContext {
            context: self.context,
            store: self.store,
            directory: cycle_context.directory,
            repository: &self.progress.repository.display().to_string(),
            cycles: cycles.len(),
            low: cycles.iter().rev().take_while(is_low).count(),
        };
        ideas::request_ideas(&so_far, &last.report, budget, cycle_context.bus).await
    }

    /// Runs the tests. Fails if they cannot be run, because then no patch could be kept.
    async fn check_tests(&mut self, tree: &Worktree) -> Result<(), AppError> {
        let scan = self.bench().scan(tree.root())?;
        let mut suites = BaselineSuites::of(&self.bench(), &scan.inventory).await?;
        if suites.unavailable().is_some() && self.progress.python == DEFAULT_PYTHON {
            // The default interpreter on `PATH` may lack pytest although the one of the system has it.
            self.progress.python = SYSTEM_PYTHON.into();
            let others = BaselineSuites::of(&self.bench(), &scan.inventory).await?;
            if others.unavailable().is_none() {
                self.context.emit(AppEvent::InterpreterChosen(RepositoryInterpreter {
                    python: SYSTEM_PYTHON.into(),
                    reason: "it can run the tests".into(),
                }));
                suites = others;
            }
        }
        if let Some(reason) = suites.unavailable() {
            return Err(RequestError::UnrunnableTests(reason.to_owned()).into());
        }
        self.failing_suites = suites.failing();
        self.suites = Some((tree.head().await?, suites.clone()));
        let (passing, files) = (suites.passing(), suites.files());
        self.context.emit(AppEvent::TestsChecked { passing, files });
        Ok(())
    }

    /// Number of the next cycle. A resumed run starts with its last recorded cycle.
    fn next_cycle_number(&self, cycles: &[AutoCycleResult]) -> usize {
        if cycles.is_empty() {
            self.progress.begun.len().saturating_sub(1)
        } else {
            self.progress.begun.len()
        }
    }

    /// Measures and improves. `None` if the cycle was interrupted while it measured.
    async fn cycle(
        &mut self,
        number: usize,
        cycle_context: &AutoCycleContext<'_>,
        budget: &mut Budget,
    ) -> Result<Option<AutoCycleResult>, AppError> {
        let AutoCycleContext { tree, bus, .. } = cycle_context;
        let start = Instant::now();
        let is_known = number < self.progress.begun.len();
        if is_known {
            // Later commits are dropped; their verdicts are reached again from recorded outcomes.
            tree.reset_to(&self.progress.begun[number].base).await?;
        }
        let bench = self.bench();
        let scan = bench.scan(tree.root())?;
        let before =
            settings_of_started_cycle(self.context, self.store, self.progress.begun.get(number)).await?;
        let included = match &before {
            Some(before) => {
                CycleModuleSelection { modules: before.modules.clone(), ..CycleModuleSelection::default() }
            }
            None => orphan_selection::select_cycle_modules(self.context, &self.progress, &scan.inventory)?,
        };
        let modules = included.modules;
        let calling = RepositoryExecutor::of(&scan.inventory, &self.progress.python, &modules).await?;
        let mut settings = self.settings(&scan.inventory, &modules, number)?;
        if let Some(before) = before {
            settings.presets = before.presets;
        } else {
            let cycle = (&self.id, number);
            let origin =
                adapt_presets(self.context, self.request, &self.progress, cycle, &mut settings)?.to_string();
            let run = new_id();
            record_start(&run, &scan.inventory, &settings, self.store).await?;
            let first = self.store.patches(&self.id).await?.len() as u64;
            let (tokens, money) = budget.spent();
            self.progress.begun.push(StartedCycle {
                run,
                base: tree.head().await?,
                first,
                presets: origin,
                left_alone: included.left_alone,
                at_ms: now_ms(),
                tokens,
                money,
                seen: None,
            });
            self.progress.save(self.store, &self.id).await?;
        }
        let begun = self.progress.begun[number].clone();
        let cycle = u32::try_from(number).unwrap_or(u32::MAX);
        bus.publish(RunEvent::CycleBegan { cycle, presets: begun.presets.clone() }, now_ms()).await?;
        let carry = match number.checked_sub(1).and_then(|before| self.progress.begun.get(before)) {
            None => None,
            Some(before) => {
                unchanged_modules(
                    self.context,
                    self.store,
                    tree,
                    (before, &begun),
                    &settings,
                    &scan.inventory,
                )
                .await?
            }
        };
        let meter = EnergyMeter::start();
        let end = continue_run(
            self.context,
            &scan.inventory,
            &settings,
            &calling,
            self.store,
            (&begun.run, carry),
            budget.deadline(),
        )
        .await?;
        let is_recorded = is_known && self.is_in_history(&begun);
        let cycle_report = self.track_cycle(&scan.inventory, &end, &meter, &calling, is_recorded).await?;
        record_roi(self.store, &begun.run, &end, cycle_report.as_ref()).await?;
        let RunEnd::Finished(report) = end else { return Ok(None) };
        let (calls, failures) = (report.calls, report.failures.len());
        let roi = cycle_report.as_ref().and_then(|cycle_report| cycle_report.roi);
        bus.publish(RunEvent::Measured { cycle, calls, failures, roi }, now_ms()).await?;
        self.context.emit(AppEvent::CycleMeasured { cycle: number + 1, calls, failures, roi });
        if let Some(cycle_report) = &cycle_report {
            let root = self.progress.repository.display().to_string();
            let history = read_history_or_empty(&self.context.data_directory(), &root);
            progress::report_forecast(self.context, cycle_report, synergy_rests(self.context, &history));
        }
        drop(calling);
        let end = self
            .improve(
                &begun,
                &settings,
                &scan.inventory,
                cycle_context,
                budget,
                (&report, cycle_report.as_ref()),
            )
            .instrument(info_span!("improve", failures = failures.cast_signed()))
            .await?;
        let kept = end.judged.iter().filter(|one| one.verdict.kept).count();
        bus.publish(RunEvent::CycleEnded { cycle, proposals: end.judged.len(), kept }, now_ms()).await?;
        let seconds = start.elapsed().as_secs_f64();
        self.progress.begun[number].seen =
            Some(AutoCycleSummary::new(&report, cycle_report.as_ref(), &scan.inventory, seconds));
        self.progress.save(self.store, &self.id).await?;
        Ok(Some(AutoCycleResult { report, cycle_report, end, seconds }))
    }

    fn settings(
        &self,
        inventory: &Inventory,
        modules: &[String],
        number: usize,
    ) -> Result<RunSettings, AppError> {
        // The same calls in each cycle, so that only the code differs.
        let round = (number, self.progress.seed);
        let mut made = run_settings(self.context, &self.request.measure, inventory, modules, round)?;
        // A resumed run keeps its original settings.
        made.timeout_ms = self.progress.timeout_ms;
        made.shrinking = Some(SHRINK_CALLS);
        made.python.clone_from(&self.progress.python);
        // Calls can be replayed after the worktree is removed.
        made.repository.clone_from(&self.progress.repository);
        Ok(made)
    }

    /// Metrics and ROI of a cycle, recorded in the history of the user's repository instead of the worktree.
    async fn track_cycle(
        &self,
        inventory: &Inventory,
        end: &RunEnd,
        meter: &EnergyMeter,
        calling: &RepositoryExecutor,
        is_recorded: bool,
    ) -> Result<Option<CycleReport>, AppError> {
        let mut user_inventory = inventory.clone();
        user_inventory.root = self.progress.repository.display().to_string();
        let tracking = RunTrackingContext::of(self.context, &user_inventory, self.store)
            .await?
            .with_failing_suites(self.failing_suites.clone());
        let forecast_log: Option<&Path> = self.request.measure.forecast_log.as_deref();
        // A resumed cycle may already be in the history.
        let is_partial = is_recorded || !self.progress.modules.is_empty();
        tracking.cycle(forecast_log, end, is_partial, meter, calling).await
    }

    fn is_in_history(&self, begun: &StartedCycle) -> bool {
        let root = self.progress.repository.display().to_string();
        let history = read_history_or_empty(&self.context.data_directory(), &root);
        history.cycles.iter().any(|mark| mark.run == begun.run.to_string())
    }

    fn stop(&self, cycles: &[AutoCycleResult], number: usize, budget: &Budget) -> Option<RunStopReason> {
        let last = cycles.last()?;
        match last.end.stopped {
            Some(CycleStop::Interrupted) => return Some(RunStopReason::Interrupted),
            Some(CycleStop::Budget(reason)) => return Some(RunStopReason::Budget(reason)),
            None => {}
        }
        if let Some(reason) = budget.stop_reason(Instant::now()) {
            return Some(RunStopReason::Budget(reason));
        }
        let measured: Vec<FinishedCycle<'_>> = cycles
            .iter()
            .map(|cycle| FinishedCycle {
                report: &cycle.report,
                judged: &cycle.end.judged,
                converged: cycle.cycle_report.as_ref().is_some_and(|cycle_report| cycle_report.converged),
                seconds: cycle.seconds,
            })
            .collect();
        if let Some(reason) = convergence_reason(self.context, &measured) {
            return Some(RunStopReason::Converged(reason));
        }
        (number + 1 >= self.progress.cycles).then_some(RunStopReason::CycleLimit(self.progress.cycles))
    }

    async fn end(
        self,
        tree: Worktree,
        bus: &RunEventBus,
        directory: &Path,
        (stop, spent): (RunStopReason, (u64, Option<f64>)),
    ) -> Result<AutoEnd, AppError> {
        bus.publish(RunEvent::Stopped { reason: stop.to_string() }, now_ms()).await?;
        if let RunStopReason::Interrupted = stop {
            self.store.set_run_state(&self.id, RunState::Interrupted, Some(now_ms()), None).await?;
            self.context.emit(AppEvent::AutoInterrupted { run: self.id.clone() });
            return Ok(AutoEnd::Interrupted(self.id));
        }
        let patches = self.store.patches(&self.id).await?;
        let seen: Vec<AutoCycleSummary> =
            self.progress.begun.iter().filter_map(|begun| begun.seen.clone()).collect();
        let finished = AutoRunReport {
            version: 1,
            run: self.id.to_string(),
            repository: self.progress.repository.display().to_string(),
            branch: tree.branch().to_owned(),
            home: tree.home().display().to_string(),
            stopped: stop.to_string(),
            modules: run_report::modules(&seen, &patches),
            cycles: seen,
            cost: run_report::cost(&patches, self.progress.seconds, spent),
            patches,
        };
        let kept = finished.kept();
        let report_directory: PathBuf = self.request.report.clone().unwrap_or_else(|| directory.to_owned());
        run_report::write(&finished, &report_directory)?;
        let value = serde_json::to_value(&finished)?;
        self.store.set_run_state(&self.id, RunState::Finished, Some(now_ms()), Some(&value)).await?;
        tree.close(kept == 0).await?;
        Ok(AutoEnd::Finished { report: Box::new(finished), directory: report_directory })
    }
}
