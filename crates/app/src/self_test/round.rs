//! One round of self-tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use menace_model::inventory::Inventory;
use menace_model::presets::Preset;
use menace_runner::{
    ArgumentSource, CallExecutor, CallJournal, CallOutcome, CallsPerCell, JournalFuture, PlannedPreset,
    RunContext, RunEnd, RunOptions, StressProfile, TestCounts, TestFileOptions, TestFileOutcome,
    callable_sections, roots, run as make_calls, run_test_files,
};
use menace_sandbox::native::{NativeBackend, NativeOptions};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::SelfTestRequest;
use crate::calling::{RepositoryExecutor, choose_interpreter, fingerprints};
use crate::events::SilentCallProgress;
use crate::measure::{absolute, resolve_module_paths};
use crate::repository::{ScanPurpose, ScanRequest, read_repository};

use super::candidates::SelfTestCandidates;
use super::integrate::integrate;
use super::state::SelfTestState;
use super::totals::{self, OrphanTestCounts};
use crate::{AppContext, AppError, AppEvent};

/// Result of a round.
#[derive(Debug, Default, Serialize)]
pub struct SelfTestRound {
    /// Version of the format.
    pub version: u32,
    /// Modules that passed.
    pub passed: usize,
    /// Modules that failed.
    pub failed: usize,
    /// Modules that could be neither tested nor called.
    pub unknown: usize,
    /// Results by module.
    pub modules: Vec<ModuleTestResult>,
    /// Test files that could not run, with the reason.
    pub unavailable: BTreeMap<String, String>,
    /// Orphans that passed and were added to the module map and to the workflows.
    pub integrated: Vec<String>,
}

/// Result of one module.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ModuleTestResult {
    /// Path of the module.
    pub path: String,
    /// `None` if it could be neither tested nor called.
    pub passed: Option<bool>,
    /// Counts of its tests.
    pub tests: TestCounts,
    /// Files that test it.
    pub test_files: Vec<String>,
    /// Result of calls, if it has no tests.
    pub smoke: Option<SmokeTestResult>,
    /// Failures.
    pub failures: Vec<String>,
}

/// Result of calls of a module without tests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SmokeTestResult {
    /// Sections of the module.
    pub sections: usize,
    /// Sections that were called.
    pub reached: usize,
    /// Number of calls.
    pub calls: usize,
    /// Failures.
    pub failures: Vec<String>,
}

/// Makes one round: runs the tests, calls modules without tests, integrates orphans that pass.
pub async fn run(context: &AppContext, request: &SelfTestRequest) -> Result<SelfTestRound, AppError> {
    let began = Instant::now();
    let repository = ScanRequest { path: request.repository.clone(), ..ScanRequest::default() };
    let scan = read_repository(context, &repository, ScanPurpose::ModuleMap)?;
    let inventory = &scan.inventory;
    let settings = context.settings();
    let paths = resolve_module_paths(inventory, &request.paths)?;
    let candidates = SelfTestCandidates::of(inventory, &paths, &settings.self_test, &settings.orphans);
    let mut state = SelfTestState::open(context, fingerprints(inventory));
    if state.known() > 0 {
        context.emit(AppEvent::SelfTestResumed { known: state.known() });
    }
    let root = std::path::Path::new(&inventory.root);
    let python = choose_interpreter(context, root, request.python.as_deref());
    let options = TestFileOptions {
        repository: absolute(root)?,
        python: python.clone(),
        roots: roots(inventory),
        timeout: request.timeout,
    };
    run_suites(context, &candidates, &options, &mut state).await?;
    let untested = untested(&candidates, &state);
    if !untested.is_empty() {
        context.emit(AppEvent::UntestedModulesCalled { count: untested.len() });
        let calling = RepositoryExecutor::of(inventory, &python, &untested).await?;
        for path in untested {
            let smoke = smoke(inventory, &calling, &path, request).await?;
            state.smoke.insert(path, smoke);
            state.save()?;
        }
    }
    let modules = results(&candidates, &state);
    let integrated = integrate(context, &scan, &modules).await?;
    state.finish()?;
    let orphans = orphans(inventory, &modules);
    let round = round(&state, modules, integrated);
    totals::add(&context.data_directory(), &round, orphans, began.elapsed())?;
    Ok(round)
}

fn orphans(inventory: &Inventory, modules: &[ModuleTestResult]) -> OrphanTestCounts {
    let is_orphan =
        |module: &&ModuleTestResult| inventory.orphans.iter().any(|orphan| orphan.path == module.path);
    let results = modules.iter().filter(is_orphan).filter_map(|module| module.passed);
    results.fold(OrphanTestCounts::default(), |orphans, passed| OrphanTestCounts {
        tested: orphans.tested + 1,
        failed: orphans.failed + usize::from(!passed),
    })
}

async fn run_suites(
    context: &AppContext,
    candidates: &SelfTestCandidates,
    options: &TestFileOptions,
    state: &mut SelfTestState,
) -> Result<(), AppError> {
    let files: Vec<String> = candidates
        .test_files()
        .into_iter()
        .filter(|file| !state.suites.contains_key(*file))
        .cloned()
        .collect();
    if files.is_empty() {
        return Ok(());
    }
    context.emit(AppEvent::TestFilesStarted { count: files.len() });
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
                (file, outcomes.map(|mut outcomes| outcomes.pop().expect("one outcome per repetition")))
            });
        }
        let Some(finished) = under_way.join_next().await else { return Ok(()) };
        let (file, outcome) = finished?;
        state.suites.insert(file, outcome?);
        state.save()?;
    }
}

/// Modules without a test result.
fn untested(candidates: &SelfTestCandidates, state: &SelfTestState) -> Vec<String> {
    let has_no_result = |file: &String| {
        !matches!(state.suites.get(file), Some(TestFileOutcome::Ran { .. } | TestFileOutcome::Broken { .. }))
    };
    let without = candidates.modules.iter().filter(|(_, files)| files.iter().all(has_no_result));
    without.map(|(path, _)| path.clone()).filter(|path| !state.smoke.contains_key(path)).collect()
}

/// Calls all sections of a module under the normal preset.
async fn smoke(
    inventory: &Inventory,
    calling: &RepositoryExecutor,
    path: &str,
    request: &SelfTestRequest,
) -> Result<SmokeTestResult, AppError> {
    let circumstances = StressProfile::of(&Preset::named("normal"), CallsPerCell::default());
    let options = RunOptions {
        seed: request.seed,
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
    let mut run_context =
        RunContext { executor, ledger: &DiscardingLedger, progress: &SilentCallProgress, stop };
    let wanted = callable_sections(inventory, &[path.to_owned()]);
    let RunEnd::Finished(report) = make_calls(&mut run_context, wanted, &options).await? else {
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

/// A journal that keeps nothing: only the report of these calls is used.
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
