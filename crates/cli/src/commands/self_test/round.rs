//! One round of self-tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use menace_model::inventory::Inventory;
use menace_model::presets::Preset;
use menace_runner::{
    ArgumentSource, CallExecutor, CallJournal, CallOutcome, CallsPerCell, JournalFuture, PlannedPreset,
    RunContext, RunEnd, RunObserver, RunOptions, StressProfile, TestCounts, TestFileOptions, TestFileOutcome,
    callable_sections, roots, run as make_calls, run_test_files,
};
use menace_sandbox::native::{NativeBackend, NativeOptions};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::arguments::{RepositoryArguments, SelfTestArguments};
use crate::calling::{RepositoryExecutor, find_interpreter, fingerprints};
use crate::commands::reading::{ScanPurpose, read_repository};
use crate::commands::run::resolve_module_paths;
use crate::configuration::Configuration;
use crate::terminal::{count, note};

use super::candidates::SelfTestCandidates;
use super::integrate::integrate;
use super::state::SelfTestState;
use super::totals::{self, OrphanTestCounts};

/// What came of a round.
#[derive(Debug, Default, Serialize)]
pub(super) struct SelfTestRound {
    pub(super) version: u32,
    pub(super) passed: usize,
    pub(super) failed: usize,
    /// Modules about which nothing could be said.
    pub(super) unknown: usize,
    pub(super) modules: Vec<ModuleTestResult>,
    /// Test files about which nothing could be said, and why.
    pub(super) unavailable: BTreeMap<String, String>,
    /// Orphans that passed and are now in the module map and in workflows.
    pub(super) integrated: Vec<String>,
}

/// What is known about a module.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct ModuleTestResult {
    pub(super) path: String,
    /// Nothing when neither tests nor calls could be made.
    pub(super) passed: Option<bool>,
    pub(super) tests: TestCounts,
    pub(super) test_files: Vec<String>,
    pub(super) smoke: Option<SmokeTestResult>,
    pub(super) failures: Vec<String>,
}

/// What came of calls of a module without tests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SmokeTestResult {
    pub(super) sections: usize,
    pub(super) reached: usize,
    pub(super) calls: usize,
    pub(super) failures: Vec<String>,
}

pub(super) async fn run(
    configuration: &Configuration,
    arguments: &SelfTestArguments,
) -> anyhow::Result<SelfTestRound> {
    let began = Instant::now();
    let repository =
        RepositoryArguments { path: arguments.repo.clone(), no_cache: false, exclude: Vec::new() };
    let scan = read_repository(configuration, &repository, ScanPurpose::ModuleMap)?;
    let inventory = &scan.inventory;
    let settings = configuration.settings();
    let paths = resolve_module_paths(inventory, &arguments.paths)?;
    let candidates = SelfTestCandidates::of(inventory, &paths, &settings.self_test, &settings.orphans);
    let mut state = SelfTestState::open(configuration, fingerprints(inventory));
    if state.known() > 0 {
        note(&format!("going on with a round that was ended: {} done", count(state.known(), "part")));
    }
    let root = std::path::Path::new(&inventory.root);
    let variable = |name: &str| std::env::var_os(name).map(Into::into);
    let interpreter = find_interpreter(root, arguments.python.as_deref(), variable);
    let options = TestFileOptions {
        repository: std::path::absolute(root)?,
        python: interpreter.python.clone(),
        roots: roots(inventory),
        timeout: arguments.timeout,
    };
    run_suites(&candidates, &options, &mut state).await?;
    let untested = untested(&candidates, &state);
    if !untested.is_empty() {
        note(&format!("calling {} without tests", count(untested.len(), "module")));
        let calling = RepositoryExecutor::of(inventory, &interpreter.python, &untested).await?;
        for path in untested {
            let smoke = smoke(inventory, &calling, &path, arguments).await?;
            state.smoke.insert(path, smoke);
            state.save()?;
        }
    }
    let modules = results(&candidates, &state);
    let integrated = integrate(configuration, &scan, &modules).await?;
    state.finish()?;
    let orphans = orphans(inventory, &modules);
    let round = round(&state, modules, integrated);
    totals::add(&configuration.data_directory(), &round, orphans, began.elapsed())?;
    Ok(round)
}

fn orphans(inventory: &Inventory, modules: &[ModuleTestResult]) -> OrphanTestCounts {
    let is_orphan =
        |module: &&ModuleTestResult| inventory.orphans.iter().any(|orphan| orphan.path == module.path);
    let said = modules.iter().filter(is_orphan).filter_map(|module| module.passed);
    said.fold(OrphanTestCounts::default(), |orphans, passed| OrphanTestCounts {
        tested: orphans.tested + 1,
        failed: orphans.failed + usize::from(!passed),
    })
}

async fn run_suites(
    candidates: &SelfTestCandidates,
    options: &TestFileOptions,
    state: &mut SelfTestState,
) -> anyhow::Result<()> {
    let files: Vec<String> = candidates
        .test_files()
        .into_iter()
        .filter(|file| !state.suites.contains_key(*file))
        .cloned()
        .collect();
    if files.is_empty() {
        return Ok(());
    }
    note(&format!("running {}", count(files.len(), "test file")));
    let backend = Arc::new(NativeBackend::start(&NativeOptions::default()).await?);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut waiting = files.into_iter();
    let mut under_way = JoinSet::new();
    loop {
        while under_way.len() < cores
            && let Some(file) = waiting.next()
        {
            let (backend, options) = (Arc::clone(&backend), options.clone());
            under_way.spawn(async move {
                let outcomes = run_test_files(&*backend, &options, std::slice::from_ref(&file), 1).await;
                (file, outcomes.map(|mut outcomes| outcomes.pop().expect("there is one for each time")))
            });
        }
        let Some(finished) = under_way.join_next().await else { return Ok(()) };
        let (file, outcome) = finished?;
        state.suites.insert(file, outcome?);
        state.save()?;
    }
}

/// Modules that no test said anything about.
fn untested(candidates: &SelfTestCandidates, state: &SelfTestState) -> Vec<String> {
    let says_nothing = |file: &String| {
        !matches!(state.suites.get(file), Some(TestFileOutcome::Ran { .. } | TestFileOutcome::Broken { .. }))
    };
    let without = candidates.modules.iter().filter(|(_, files)| files.iter().all(says_nothing));
    without.map(|(path, _)| path.clone()).filter(|path| !state.smoke.contains_key(path)).collect()
}

/// Calls all sections of a module with ordinary arguments.
async fn smoke(
    inventory: &Inventory,
    calling: &RepositoryExecutor,
    path: &str,
    arguments: &SelfTestArguments,
) -> anyhow::Result<SmokeTestResult> {
    let circumstances = StressProfile::of(&Preset::named("normal"), CallsPerCell::default());
    let options = RunOptions {
        seed: arguments.seed,
        presets: vec![PlannedPreset { circumstances, modules: None }],
        given: Vec::new(),
        source: ArgumentSource::default(),
        timeout: std::time::Duration::from_secs(5),
        parallel: calling.parallel,
        digest: None,
        shrinking: RunOptions::THOROUGH,
    };
    let executor: &Arc<dyn CallExecutor> = &calling.executor;
    let (_stopper, stop) = watch::channel(false);
    let mut surroundings =
        RunContext { executor, ledger: &DiscardingLedger, progress: &DiscardingLedger, stop };
    let wanted = callable_sections(inventory, &[path.to_owned()]);
    let RunEnd::Finished(report) = make_calls(&mut surroundings, wanted, &options).await? else {
        return Ok(SmokeTestResult::default());
    };
    let described = |failure: &menace_runner::DistinctFailure| {
        let exception = failure.exception.as_deref().unwrap_or(failure.kind.name());
        format!("{}: {exception}: {} at {}:{}", failure.section, failure.message, failure.path, failure.line)
    };
    Ok(SmokeTestResult {
        sections: report.sections,
        reached: report.reached,
        calls: report.calls,
        failures: report.failures.iter().map(described).collect(),
    })
}

/// What came of these calls is not kept one by one.
struct DiscardingLedger;

impl CallJournal for DiscardingLedger {
    fn known(&self) -> BTreeMap<u64, CallOutcome> {
        BTreeMap::new()
    }

    fn planned<'a>(&'a self, _calls: u64, _digest: &'a str) -> JournalFuture<'a> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn record<'a>(&'a self, _: &'a [menace_runner::RecordedCall]) -> JournalFuture<'a> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl RunObserver for DiscardingLedger {
    fn planned(&self, _calls: usize, _made: usize) {}
    fn called(&self, _kind: menace_model::calls::OutcomeKind) {}
    fn shrinking(&self, _failures: usize) {}
    fn shrunk(&self) {}
}

fn results(candidates: &SelfTestCandidates, state: &SelfTestState) -> Vec<ModuleTestResult> {
    let result = |(path, files): (&String, &Vec<String>)| {
        let mut cases = Vec::new();
        let mut failures = Vec::new();
        let mut is_known = false;
        for file in files {
            match state.suites.get(file) {
                Some(TestFileOutcome::Ran { cases: ran }) => {
                    is_known = true;
                    let bad = ran.iter().filter(|case| {
                        matches!(
                            case.kind,
                            menace_runner::TestOutcome::Failed | menace_runner::TestOutcome::Error
                        )
                    });
                    failures.extend(bad.map(|case| format!("{file}::{}: {}", case.name, case.message)));
                    cases.extend(ran.iter().cloned());
                }
                Some(TestFileOutcome::Broken { reason }) => {
                    is_known = true;
                    failures.push(format!("{file}: {reason}"));
                }
                Some(TestFileOutcome::Unavailable { .. }) | None => {}
            }
        }
        let smoke = state.smoke.get(path).cloned();
        if let Some(smoke) = &smoke {
            is_known |= smoke.reached > 0;
            failures.extend(smoke.failures.iter().cloned());
        }
        ModuleTestResult {
            path: path.clone(),
            passed: is_known.then_some(failures.is_empty()),
            tests: TestCounts::of(&cases),
            test_files: files.clone(),
            smoke,
            failures,
        }
    };
    candidates.modules.iter().map(result).collect()
}

fn round(state: &SelfTestState, modules: Vec<ModuleTestResult>, integrated: Vec<String>) -> SelfTestRound {
    let count = |passed: Option<bool>| modules.iter().filter(|module| module.passed == passed).count();
    let unavailable = state.suites.iter().filter_map(|(file, outcome)| match outcome {
        TestFileOutcome::Unavailable { reason } => Some((file.clone(), reason.clone())),
        TestFileOutcome::Ran { .. } | TestFileOutcome::Broken { .. } => None,
    });
    SelfTestRound {
        version: 1,
        passed: count(Some(true)),
        failed: count(Some(false)),
        unknown: count(None),
        unavailable: unavailable.collect(),
        integrated,
        modules,
    }
}
