//! One cycle after the other.

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

use super::adapted::{adapt_presets, settings_of_started_cycle};
use super::alone::directory_of;
use super::asked;
use super::carried::unchanged_modules;
use super::clock::{self, ElapsedTimeWriter};
use super::ideas;
use super::orphans::{self, CycleModuleSelection};
use super::report::{self, AutoRunReport};
use super::seen::AutoCycleSummary;
use super::state::{AutoRunState, StartedCycle};
use super::stop::{FinishedCycle, RunStopReason, convergence_reason};
use super::tell;
use crate::arguments::AutoArguments;
use crate::calling::{RepositoryExecutor, RunSettings, now_ms};
use crate::commands::run::{RunTrackingContext, begin_as, keep, new_id, once_more, settings};
use crate::commands::usage::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{count, note};
use crate::tracking::{CycleReport, EnergyMeter, read_history_or_empty, synergy_rests};

/// The interpreter if nobody says which, and the one of the system.
const ANY_PYTHON: &str = "python3";
const SYSTEM_PYTHON: &str = "/usr/bin/python3";
/// Calls that are spent on making the input of one failure smaller: proposals need a small one, not the smallest.
const SHRINKING: usize = 32;

pub(super) struct AutoRunDriver<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) arguments: &'a AutoArguments,
    pub(super) store: &'a Store,
    pub(super) id: RunId,
    pub(super) began_ms: i64,
    pub(super) progress: AutoRunState,
    /// Test files of which a test did not pass when it began.
    pub(super) failing_suites: BTreeSet<String>,
    /// What tests said of a commit, so that they need not be run again for it.
    pub(super) suites: Option<(String, BaselineSuites)>,
}

/// What a cycle works with.
pub(super) struct AutoCycleContext<'a> {
    /// The directory of the run.
    pub(super) directory: &'a Path,
    pub(super) tree: &'a Worktree,
    pub(super) bus: &'a RunEventBus,
    /// What the cycle before measured of modules.
    pub(super) previous: Option<&'a BTreeMap<String, BTreeMap<String, f64>>>,
}

/// How a cycle went.
struct AutoCycleResult {
    report: Box<RunReport>,
    worth: Option<CycleReport>,
    end: CycleResult,
    seconds: f64,
}

impl AutoRunDriver<'_> {
    pub(super) async fn run(mut self) -> anyhow::Result<MenaceExit> {
        let began = Instant::now();
        let directory = std::path::absolute(directory_of(self.configuration, &self.id))?;
        let branch = format!("menace/{}", self.id);
        let unix_seconds = self.began_ms / 1000;
        let tree =
            Worktree::open(&self.progress.repository, &directory.join("tree"), &branch, unix_seconds).await?;
        note(&format!("{}: {} on branch {branch}", self.id, self.progress.repository.display()));
        self.check_tests(&tree).instrument(info_span!("tests")).await?;
        note(&asked::describe_model(self.configuration));
        let bus = RunEventBus::new(self.store.clone(), self.id.clone());
        let limits = BudgetLimits {
            time: self.arguments.max_time,
            cost: self.arguments.max_cost,
            tokens: self.arguments.max_tokens,
        };
        // One that was killed had no time to write down what it took.
        let seconds = clock::elapsed(&directory).unwrap_or(0.0).max(self.progress.seconds);
        let before = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let _clock = ElapsedTimeWriter::start(&directory, began, before);
        let mut budget = Budget::new(limits, began, before);
        if let Some(last) = self.progress.begun.last() {
            budget.spent_before(last.tokens, last.money);
        }
        let mut cycles: Vec<AutoCycleResult> = Vec::new();
        let stop = loop {
            let number = self.first_open(&cycles);
            let previous = cycles.last().and_then(|cycle| cycle.worth.as_ref()).map(asked::measured);
            let around = AutoCycleContext {
                directory: &directory,
                tree: &tree,
                bus: &bus,
                previous: previous.as_ref(),
            };
            let cycle = self
                .cycle(number, &around, &mut budget)
                .instrument(info_span!("cycle", number = number.cast_signed()));
            match cycle.await? {
                None => {
                    break budget
                        .stop_reason(Instant::now())
                        .map_or(RunStopReason::Interrupted, RunStopReason::Budget);
                }
                Some(cycle) => cycles.push(cycle),
            }
            self.ideas(&cycles, &around, &mut budget).await?;
            if let Some(stop) = self.stop(&cycles, number, &budget) {
                break stop;
            }
        };
        self.progress.seconds = budget.elapsed(Instant::now()).as_secs_f64();
        self.progress.save(self.store, &self.id).await?;
        self.end(tree, &bus, &directory, (stop, budget.spent())).await
    }

    /// New ideas, if it is time for some.
    async fn ideas(
        &self,
        cycles: &[AutoCycleResult],
        around: &AutoCycleContext<'_>,
        budget: &mut Budget,
    ) -> anyhow::Result<()> {
        let Some(last) = cycles.last() else { return Ok(()) };
        let is_low = |cycle: &&AutoCycleResult| {
            cycle
                .worth
                .as_ref()
                .is_some_and(|worth| worth.delta.is_some_and(|delta| delta <= worth.roi_threshold))
        };
        let so_far = ideas::IdeaRequestContext {
            configuration: self.configuration,
            store: self.store,
            directory: around.directory,
            repository: &self.progress.repository.display().to_string(),
            cycles: cycles.len(),
            low: cycles.iter().rev().take_while(is_low).count(),
        };
        ideas::request_ideas(&so_far, &last.report, budget, around.bus).await
    }

    /// Nothing can be kept if there are tests that nobody can run: that is said before anything is spent.
    async fn check_tests(&mut self, tree: &Worktree) -> anyhow::Result<()> {
        let scan = self.bench().scan(tree.root())?;
        let mut suites = BaselineSuites::of(&self.bench(), &scan.inventory).await?;
        if suites.unavailable().is_some() && self.progress.python == ANY_PYTHON {
            // Nobody said which interpreter, and the first one on the path may have no pytest where that of the system does.
            self.progress.python = SYSTEM_PYTHON.into();
            let others = BaselineSuites::of(&self.bench(), &scan.inventory).await?;
            if others.unavailable().is_none() {
                note(&format!("interpreter: {SYSTEM_PYTHON} (it can run the tests)"));
                suites = others;
            }
        }
        if let Some(reason) = suites.unavailable() {
            return Err(UsageError::Untestable(reason.to_owned()).into());
        }
        self.failing_suites = suites.failing();
        self.suites = Some((tree.head().await?, suites.clone()));
        match suites.files() {
            0 => note("no tests: only calls say whether something is better"),
            files => note(&format!("tests: {} in {} pass", suites.passing(), count(files, "file"))),
        }
        Ok(())
    }

    /// The number of the next cycle: cycles of an earlier part that are complete are not made again.
    fn first_open(&self, cycles: &[AutoCycleResult]) -> usize {
        if cycles.is_empty() {
            self.progress.begun.len().saturating_sub(1)
        } else {
            self.progress.begun.len()
        }
    }

    /// Measures and improves. Nothing if its user ended it while it measured.
    async fn cycle(
        &mut self,
        number: usize,
        around: &AutoCycleContext<'_>,
        budget: &mut Budget,
    ) -> anyhow::Result<Option<AutoCycleResult>> {
        let AutoCycleContext { tree, bus, .. } = around;
        let start = Instant::now();
        let is_known = number < self.progress.begun.len();
        if is_known {
            // What was committed since is decided again, from what is written down.
            tree.reset_to(&self.progress.begun[number].base).await?;
        }
        let bench = self.bench();
        let scan = bench.scan(tree.root())?;
        let before = settings_of_started_cycle(self.store, self.progress.begun.get(number)).await?;
        let included = match &before {
            Some(before) => {
                CycleModuleSelection { modules: before.modules.clone(), ..CycleModuleSelection::default() }
            }
            None => orphans::select_cycle_modules(self.configuration, &self.progress, &scan.inventory)?,
        };
        let modules = included.modules;
        let calling = RepositoryExecutor::of(&scan.inventory, &self.progress.python, &modules).await?;
        let mut settings = self.settings(&scan.inventory, &modules, number)?;
        if let Some(before) = before {
            settings.presets = before.presets;
        } else {
            let cycle = (&self.id, number);
            let origin =
                adapt_presets(self.configuration, self.arguments, &self.progress, cycle, &mut settings)?
                    .to_string();
            let run = new_id();
            begin_as(&run, &scan.inventory, &settings, self.store).await?;
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
                unchanged_modules(self.store, tree, (before, &begun), &settings, &scan.inventory).await?
            }
        };
        let meter = EnergyMeter::start();
        let end = once_more(
            &scan.inventory,
            &settings,
            &calling,
            self.store,
            (&begun.run, carry),
            budget.deadline(),
        )
        .await?;
        let is_there = is_known && self.is_in_history(&begun);
        let worth = self.worth(&scan.inventory, &end, &meter, &calling, is_there).await?;
        keep(self.store, &begun.run, &end, worth.as_ref()).await?;
        let RunEnd::Finished(report) = end else { return Ok(None) };
        let (calls, failures) = (report.calls, report.failures.len());
        let roi = worth.as_ref().and_then(|worth| worth.roi);
        bus.publish(RunEvent::Measured { cycle, calls, failures, roi }, now_ms()).await?;
        tell::measured(number, &report, roi);
        if let Some(worth) = &worth {
            let root = self.progress.repository.display().to_string();
            let history = read_history_or_empty(&self.configuration.data_directory(), &root);
            tell::expected(worth, &synergy_rests(self.configuration, &history));
        }
        drop(calling);
        let end = self
            .improve(&begun, &settings, &scan.inventory, around, budget, (&report, worth.as_ref()))
            .instrument(info_span!("improve", failures = failures.cast_signed()))
            .await?;
        let kept = end.judged.iter().filter(|one| one.verdict.kept).count();
        bus.publish(RunEvent::CycleEnded { cycle, proposals: end.judged.len(), kept }, now_ms()).await?;
        let seconds = start.elapsed().as_secs_f64();
        self.progress.begun[number].seen =
            Some(AutoCycleSummary::new(&report, worth.as_ref(), &scan.inventory, seconds));
        self.progress.save(self.store, &self.id).await?;
        Ok(Some(AutoCycleResult { report, worth, end, seconds }))
    }

    fn settings(
        &self,
        inventory: &Inventory,
        modules: &[String],
        number: usize,
    ) -> anyhow::Result<RunSettings> {
        // The same calls in each cycle: what changes between them is the code.
        let round = (number, self.progress.seed);
        let mut made = settings(self.configuration, &self.arguments.measure, inventory, modules, round)?;
        // What a loop was begun with counts, not how it is gone on with.
        made.timeout_ms = self.progress.timeout_ms;
        made.shrinking = Some(SHRINKING);
        made.python.clone_from(&self.progress.python);
        // Calls can be replayed after the worktree is gone.
        made.repository.clone_from(&self.progress.repository);
        Ok(made)
    }

    /// What a cycle is worth, in the history of the repository that its user named.
    async fn worth(
        &self,
        inventory: &Inventory,
        end: &RunEnd,
        meter: &EnergyMeter,
        calling: &RepositoryExecutor,
        is_there: bool,
    ) -> anyhow::Result<Option<CycleReport>> {
        let mut of_user = inventory.clone();
        of_user.root = self.progress.repository.display().to_string();
        let worth = RunTrackingContext::of(self.configuration, &of_user, self.store)
            .await?
            .with_failing_suites(self.failing_suites.clone());
        let forecast_log: Option<&Path> = self.arguments.measure.forecast_log.as_deref();
        // A cycle that is gone on with may be in the history already.
        let is_left_out = is_there || !self.progress.modules.is_empty();
        worth.cycle(forecast_log, end, is_left_out, meter, calling).await
    }

    fn is_in_history(&self, begun: &StartedCycle) -> bool {
        let root = self.progress.repository.display().to_string();
        let history = read_history_or_empty(&self.configuration.data_directory(), &root);
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
                converged: cycle.worth.as_ref().is_some_and(|worth| worth.converged),
                seconds: cycle.seconds,
            })
            .collect();
        if let Some(reason) = convergence_reason(self.configuration, &measured) {
            return Some(RunStopReason::Enough(reason));
        }
        (number + 1 >= self.progress.cycles).then_some(RunStopReason::Cycles(self.progress.cycles))
    }

    async fn end(
        self,
        tree: Worktree,
        bus: &RunEventBus,
        directory: &Path,
        (stop, spent): (RunStopReason, (u64, Option<f64>)),
    ) -> anyhow::Result<MenaceExit> {
        bus.publish(RunEvent::Stopped { reason: stop.to_string() }, now_ms()).await?;
        if let RunStopReason::Interrupted = stop {
            self.store.set_run_state(&self.id, RunState::Interrupted, Some(now_ms()), None).await?;
            note(&format!("stopped; menace auto --recover {} goes on", self.id));
            return Ok(MenaceExit::Interrupted);
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
            modules: report::modules(&seen, &patches),
            cycles: seen,
            cost: report::cost(&patches, self.progress.seconds, spent),
            patches,
        };
        let kept = finished.kept();
        let place: PathBuf = self.arguments.report.clone().unwrap_or_else(|| directory.to_owned());
        report::write(&finished, &place)?;
        let value = serde_json::to_value(&finished)?;
        self.store.set_run_state(&self.id, RunState::Finished, Some(now_ms()), Some(&value)).await?;
        tree.close(kept == 0).await?;
        report::show(&finished, &place, self.arguments.measure.output.json)?;
        Ok(MenaceExit::Done)
    }
}
