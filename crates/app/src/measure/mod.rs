//! `menace run`: calls every function of a repository under stress and measures its modules.

mod cycle_tracking;
mod preset_choice;
mod regression_tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use menace_model::ids::RunId;
use menace_model::inventory::Inventory;
use menace_model::presets::CanonicalProfile;
use menace_runner::{
    CallableSection, RunContext, RunEnd, RunOptions, RunReport, callable_sections, run as make_calls,
};
use menace_store::{RunRecord, RunState, Store};
use tokio::sync::watch;
use tracing::{Instrument, info_span};

use crate::calling::{
    RepositoryExecutor, RunSettings, StoreLedger, choose_interpreter, fingerprints, now_ms, open_store,
};
use crate::repository::{ScanPurpose, ScanRequest, read_repository};
use crate::tracking::{CycleReport, EnergyMeter};
use crate::{AppContext, AppError, RequestError, stubs};
use cycle_tracking::pilots;
pub use cycle_tracking::report_with_roi;
pub(crate) use cycle_tracking::{RunTrackingContext, record_roi};
use preset_choice::PresetRequest;
pub use regression_tests::write_regression_tests;

/// Timeout of a call if none is given.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Request for runs of calls.
#[derive(Debug, Clone, Default)]
pub struct MeasureRequest {
    /// The repository; `None` for the one in the settings.
    pub repository: Option<PathBuf>,
    /// Whether to ignore the cache of file facts.
    pub no_cache: bool,
    /// Patterns of excluded paths.
    pub exclude: Vec<String>,
    /// Modules to call, by path or name; empty for all.
    pub modules: Vec<String>,
    /// Number of runs; `None` for one.
    pub runs: Option<usize>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Files of presets; runs take turns.
    pub preset_files: Vec<PathBuf>,
    /// Number of generated presets.
    pub preset_count: Option<usize>,
    /// Whether no preset is added to the given ones.
    pub only_these_presets: bool,
    /// Timeout of a call.
    pub timeout: Option<Duration>,
    /// Python interpreter.
    pub python: Option<String>,
    /// File that receives forecasts.
    pub forecast_log: Option<PathBuf>,
}

impl MeasureRequest {
    pub(crate) fn scan(&self) -> ScanRequest {
        ScanRequest { path: self.repository.clone(), no_cache: self.no_cache, exclude: self.exclude.clone() }
    }
}

/// End of one run.
pub struct MeasuredRun {
    /// Id of the run.
    pub id: RunId,
    /// Its settings.
    pub settings: RunSettings,
    /// Its report, or its progress if it was interrupted.
    pub end: RunEnd,
    /// Metrics and ROI, if it finished.
    pub cycle: Option<CycleReport>,
}

/// Makes the requested runs. An interrupted run is the last one.
pub async fn run(context: &AppContext, request: &MeasureRequest) -> Result<Vec<MeasuredRun>, AppError> {
    let store = open_store(context).await?;
    let measured = begin(context, request, &store).await;
    store.close().await?;
    measured
}

async fn begin(
    context: &AppContext,
    request: &MeasureRequest,
    store: &Store,
) -> Result<Vec<MeasuredRun>, AppError> {
    let scan = read_repository(context, &request.scan(), ScanPurpose::Inventory)?;
    if scan.inventory.modules.is_empty() {
        return Err(RequestError::NoPython(PathBuf::from(&scan.inventory.root)).into());
    }
    let modules = resolve_module_paths(&scan.inventory, &request.modules)?;
    let python = choose_interpreter(context, Path::new(&scan.inventory.root), request.python.as_deref());
    let calling = RepositoryExecutor::of(&scan.inventory, &python, &modules).await?;
    let wanted = callable_sections(&scan.inventory, &modules);
    let given = stubs::given(context, &scan.inventory, &wanted, store, &calling).await?;
    let tracking = RunTrackingContext::of(context, &scan.inventory, store).await?;
    let mut measured = Vec::new();
    for round in 0..request.runs.unwrap_or(1).max(1) {
        let seed = request.seed.wrapping_add(round as u64);
        let mut settings = run_settings(context, request, &scan.inventory, &modules, (round, seed))?;
        (settings.python, settings.given) = (python.clone(), given.clone());
        let meter = EnergyMeter::start();
        let (id, end) = run_once(context, &scan.inventory, &settings, &calling, store).await?;
        let is_over = matches!(end, RunEnd::Interrupted { .. });
        let forecast_log = request.forecast_log.as_deref();
        let is_partial = !settings.modules.is_empty();
        let mut cycle = tracking.cycle(forecast_log, &end, is_partial, &meter, &calling).await?;
        if let Some(cycle) = &mut cycle {
            pilots(&tracking, &settings, &calling, store, cycle).await?;
        }
        record_roi(store, &id, &end, cycle.as_ref()).await?;
        measured.push(MeasuredRun { id, settings, end, cycle });
        if is_over {
            break;
        }
    }
    Ok(measured)
}

/// Resumes an interrupted run.
pub async fn resume(
    context: &AppContext,
    id: &str,
    no_cache: bool,
    forecast_log: Option<&Path>,
) -> Result<MeasuredRun, AppError> {
    let store = open_store(context).await?;
    let measured = resume_stored(context, (id, no_cache), forecast_log, &store).await;
    store.close().await?;
    measured
}

async fn resume_stored(
    context: &AppContext,
    (id, no_cache): (&str, bool),
    forecast_log: Option<&Path>,
    store: &Store,
) -> Result<MeasuredRun, AppError> {
    let id: RunId = id.parse()?;
    let stored = store.run(&id).await?;
    if stored.state == RunState::Finished {
        return Err(RequestError::Finished(id).into());
    }
    let settings: RunSettings = serde_json::from_value(stored.options)
        .map_err(|source| AppError::StoredRun { run: id.to_string(), source })?;
    let repository =
        ScanRequest { path: Some(settings.repository.clone()), no_cache, exclude: settings.exclude.clone() };
    let scan = read_repository(context, &repository, ScanPurpose::Inventory)?;
    store.set_run_state(&id, RunState::Running, None, None).await?;
    let ledger = StoreLedger::resumed(store.clone(), id.clone(), settings.clone()).await?;
    let calling = RepositoryExecutor::of(&scan.inventory, &settings.python, &settings.modules).await?;
    let tracking = RunTrackingContext::of(context, &scan.inventory, store).await?;
    let meter = EnergyMeter::start();
    let end = call_all(context, &scan.inventory, &settings, &calling, &ledger, (&id, None)).await?;
    let is_partial = !settings.modules.is_empty();
    let cycle = tracking.cycle(forecast_log, &end, is_partial, &meter, &calling).await?;
    record_roi(store, &id, &end, cycle.as_ref()).await?;
    Ok(MeasuredRun { id, settings, end, cycle })
}

/// Makes one run with these settings.
pub(crate) async fn run_once(
    context: &AppContext,
    inventory: &Inventory,
    settings: &RunSettings,
    calling: &RepositoryExecutor,
    store: &Store,
) -> Result<(RunId, RunEnd), AppError> {
    let id = new_id();
    record_start(&id, inventory, settings, store).await?;
    let ledger = StoreLedger::new(store.clone(), id.clone(), settings.clone());
    let end = call_all(context, inventory, settings, calling, &ledger, (&id, None)).await?;
    Ok((id, end))
}

/// Records the start of a run.
pub(crate) async fn record_start(
    id: &RunId,
    inventory: &Inventory,
    settings: &RunSettings,
    store: &Store,
) -> Result<(), AppError> {
    let stored = RunRecord {
        id: id.clone(),
        repository: inventory.root.clone(),
        state: RunState::Running,
        seed: settings.seed,
        began_ms: now_ms(),
        ended_ms: None,
        planned: 0,
        options: serde_json::to_value(settings)?,
        report: None,
    };
    Ok(store.begin_run(&stored).await?)
}

/// Resumes a run over unchanged code: recorded outcomes are kept, and outcomes of some modules are carried over from
/// another run.
pub(crate) async fn continue_run(
    context: &AppContext,
    inventory: &Inventory,
    settings: &RunSettings,
    calling: &RepositoryExecutor,
    store: &Store,
    (id, carried): (&RunId, Option<(RunId, BTreeSet<String>)>),
    deadline: Option<Instant>,
) -> Result<RunEnd, AppError> {
    store.set_run_state(id, RunState::Running, None, None).await?;
    let mut ledger = StoreLedger::resumed(store.clone(), id.clone(), settings.clone()).await?;
    if let Some((other, modules)) = carried {
        ledger.carry(&other, &modules).await?;
    }
    call_all(context, inventory, settings, calling, &ledger, (id, deadline)).await
}

/// Settings of one run, as they are stored with it.
pub(crate) fn run_settings(
    context: &AppContext,
    request: &MeasureRequest,
    inventory: &Inventory,
    modules: &[String],
    (round, seed): (usize, u64),
) -> Result<RunSettings, AppError> {
    let presets = PresetRequest {
        files: &request.preset_files,
        count: request.preset_count,
        seed,
        round,
        only_these: request.only_these_presets,
    };
    let paths: BTreeSet<String> =
        callable_sections(inventory, modules).into_iter().map(|target| target.path).collect();
    let paths: Vec<String> = paths.into_iter().collect();
    Ok(RunSettings {
        repository: absolute(&inventory.root)?,
        exclude: request.exclude.clone(),
        modules: modules.to_vec(),
        seed,
        timeout_ms: milliseconds(request.timeout.unwrap_or(DEFAULT_TIMEOUT)),
        python: String::new(),
        presets: preset_choice::chosen(context, &presets, &paths)?.into_iter().map(Into::into).collect(),
        given: Vec::new(),
        source: stubs::source(context),
        digest: None,
        files: fingerprints(inventory),
        shrinking: None,
    })
}

/// An absolute path.
pub(crate) fn absolute(path: impl AsRef<Path>) -> Result<PathBuf, AppError> {
    let path = path.as_ref();
    std::path::absolute(path).map_err(|source| AppError::File {
        action: "resolve",
        path: path.to_owned(),
        source,
    })
}

/// A duration in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

async fn call_all(
    context: &AppContext,
    inventory: &Inventory,
    settings: &RunSettings,
    calling: &RepositoryExecutor,
    ledger: &StoreLedger,
    (id, deadline): (&RunId, Option<Instant>),
) -> Result<RunEnd, AppError> {
    let store = ledger.store();
    let options = RunOptions {
        seed: settings.seed,
        presets: settings.planned_presets()?,
        given: settings.given.clone(),
        source: settings.source,
        timeout: settings.timeout(),
        parallel: calling.parallel,
        digest: settings.digest.clone(),
        shrinking: settings.shrinking.unwrap_or(RunOptions::THOROUGH),
    };
    let progress = context.front_end().call_progress();
    let (stopper, stop) = watch::channel(false);
    let at_deadline = deadline.map(|deadline| {
        let stopper = stopper.clone();
        tokio::spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            stopper.send_replace(true);
        })
    });
    let mut interruption = context.interruption();
    let at_interruption = tokio::spawn(async move {
        if interruption.wait_for(|requested| *requested).await.is_ok() {
            stopper.send_replace(true);
        }
    });
    let mut run_context = RunContext { executor: &calling.executor, ledger, progress: &*progress, stop };
    let wanted: Vec<CallableSection> = callable_sections(inventory, &settings.modules);
    let run = info_span!("run", id = %id, repository = inventory.root);
    let end = make_calls(&mut run_context, wanted, &options).instrument(run).await;
    drop(progress);
    at_interruption.abort();
    if let Some(at_deadline) = at_deadline {
        at_deadline.abort();
    }
    let mut end = end?;
    match &mut end {
        RunEnd::Finished(report) => {
            report.name(id);
            let report = serde_json::to_value(&*report)?;
            store.set_run_state(id, RunState::Finished, Some(now_ms()), Some(&report)).await?;
        }
        RunEnd::Interrupted { made, planned } => {
            store.set_run_state(id, RunState::Interrupted, Some(now_ms()), None).await?;
            tracing::debug!("{id}: interrupted after {made} of {planned} calls");
        }
    }
    Ok(end)
}

/// Modules with canonical scenarios under which none of their sections was called, and the reason.
pub fn missing_scenarios(report: &RunReport) -> Vec<(String, &'static str, String)> {
    let module = |section: &str| section.split(':').next().unwrap_or(section).to_owned();
    let modules: BTreeSet<String> = report.cells.iter().map(|cell| module(&cell.section)).collect();
    let mut missing = Vec::new();
    for name in modules {
        for profile in CanonicalProfile::COVERED {
            let mut cells = report
                .cells
                .iter()
                .filter(|cell| module(&cell.section) == name && cell.scenario == profile.name());
            if cells.clone().all(|cell| cell.n == 0) {
                let reason = cells.find_map(|cell| cell.void_reason.clone());
                missing.push((name.clone(), profile.name(), reason.unwrap_or_else(|| "no calls".into())));
            }
        }
    }
    missing
}

/// A new id of a run.
pub fn new_id() -> RunId {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds every hasher randomly, which is enough for a name.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    RunId::new(now_ms().unsigned_abs(), random)
}

/// Paths of modules that were given by path or by name.
pub(crate) fn resolve_module_paths(
    inventory: &Inventory,
    names: &[String],
) -> Result<Vec<String>, RequestError> {
    let find = |name: &String| {
        let found = inventory.modules.iter().find(|module| module.path == *name || module.name == *name);
        found.map(|module| module.path.clone()).ok_or_else(|| RequestError::UnknownModule(name.clone()))
    };
    names.iter().map(find).collect()
}
