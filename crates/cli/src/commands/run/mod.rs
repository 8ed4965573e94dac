//! `menace run`: every function of a repository, called.

mod emit;
mod full;
mod presets;
mod report;
mod tracked;
mod worth;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use menace_model::ids::RunId;
use menace_model::inventory::Inventory;
use menace_model::presets::CanonicalProfile;
use menace_runner::{
    CallableSection, RunContext, RunEnd, RunOptions, RunReport, callable_sections, run as make_calls,
};
use menace_store::{RunRecord as StoredRun, RunState, Store};
use tokio::sync::watch;
use tracing::{Instrument, info_span};

use crate::arguments::{MeasureOptions, RepositoryArguments, RunArguments};
use crate::calling::{
    CallProgress, RepositoryExecutor, RunSettings, StoreLedger, asked_to_stop, find_interpreter,
    fingerprints, now_ms, open_store, runtime,
};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{note, print, print_json};

use super::reading::{ScanPurpose, read_repository};
use super::usage::UsageError;
use crate::tracking::{CycleReport, EnergyMeter};
use presets::PresetSelectionRequest;
pub(super) use report::{input, report, shortened};
pub(super) use tracked::{RunTrackingContext, keep};
use tracked::{pilots, with_worth};

/// How long a call may take if nobody says it.
const USUAL_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn run(configuration: &Configuration, arguments: &RunArguments) -> anyhow::Result<MenaceExit> {
    if configuration.settings().docker.docker && arguments.resume.is_none() {
        return full::run(configuration, arguments);
    }
    runtime()?.block_on(async {
        let store = open_store(configuration).await?;
        let ended = match &arguments.resume {
            Some(id) => vec![resume(configuration, arguments, &store, id).await?],
            None => begin(configuration, arguments, &store).await?,
        };
        store.close().await?;
        finish(configuration, arguments, &ended)
    })
}

/// Where a run ended.
struct EndedRun {
    id: RunId,
    settings: RunSettings,
    end: RunEnd,
    /// What it is worth, if it ended.
    cycle: Option<CycleReport>,
}

async fn begin(
    configuration: &Configuration,
    arguments: &RunArguments,
    store: &Store,
) -> anyhow::Result<Vec<EndedRun>> {
    let scan = read_repository(configuration, &arguments.measure.repository, ScanPurpose::Inventory)?;
    let modules = resolve_module_paths(&scan.inventory, &arguments.measure.modules)?;
    let python = interpreter(&scan.inventory, &arguments.measure);
    let calling = RepositoryExecutor::of(&scan.inventory, &python, &modules).await?;
    let wanted = callable_sections(&scan.inventory, &modules);
    let given = super::stubs::given(configuration, &scan.inventory, &wanted, store, &calling).await?;
    let mut ended = Vec::new();
    let worth = RunTrackingContext::of(configuration, &scan.inventory, store).await?;
    for round in 0..arguments.measure.runs.unwrap_or(1).max(1) {
        let seed = arguments.measure.seed.wrapping_add(round as u64);
        let measure = &arguments.measure;
        let mut settings = settings(configuration, measure, &scan.inventory, &modules, (round, seed))?;
        (settings.python, settings.given) = (python.clone(), given.clone());
        let meter = EnergyMeter::start();
        let (id, end) = run_once(&scan.inventory, &settings, &calling, store).await?;
        let is_over = matches!(end, RunEnd::Interrupted { .. });
        let mut cycle = worth
            .cycle(
                arguments.measure.forecast_log.as_deref(),
                &end,
                !settings.modules.is_empty(),
                &meter,
                &calling,
            )
            .await?;
        if let Some(cycle) = &mut cycle {
            pilots(&worth, &settings, &calling, store, cycle).await?;
        }
        keep(store, &id, &end, cycle.as_ref()).await?;
        ended.push(EndedRun { id, settings, end, cycle });
        if is_over {
            break;
        }
    }
    Ok(ended)
}

/// One run with these settings.
async fn run_once(
    inventory: &Inventory,
    settings: &RunSettings,
    calling: &RepositoryExecutor,
    store: &Store,
) -> anyhow::Result<(RunId, RunEnd)> {
    let id = new_id();
    begin_as(&id, inventory, settings, store).await?;
    let ledger = StoreLedger::new(store.clone(), id.clone(), settings.clone());
    let end = call_all(inventory, settings, calling, &ledger, (&id, None)).await?;
    Ok((id, end))
}

/// Writes down that a run begins.
pub(in crate::commands) async fn begin_as(
    id: &RunId,
    inventory: &Inventory,
    settings: &RunSettings,
    store: &Store,
) -> anyhow::Result<()> {
    let stored = StoredRun {
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

/// A run that goes on, over code that is what it was: what came of its calls is known as far as it got. What came of calls of
/// some modules in another run is taken from there.
pub(in crate::commands) async fn once_more(
    inventory: &Inventory,
    settings: &RunSettings,
    calling: &RepositoryExecutor,
    store: &Store,
    (id, carried): (&RunId, Option<(RunId, BTreeSet<String>)>),
    until: Option<Instant>,
) -> anyhow::Result<RunEnd> {
    store.set_run_state(id, RunState::Running, None, None).await?;
    let mut ledger = StoreLedger::resumed(store.clone(), id.clone(), settings.clone()).await?;
    if let Some((other, modules)) = carried {
        ledger.carry(&other, &modules).await?;
    }
    call_all(inventory, settings, calling, &ledger, (id, until)).await
}

async fn resume(
    configuration: &Configuration,
    arguments: &RunArguments,
    store: &Store,
    id: &str,
) -> anyhow::Result<EndedRun> {
    let id: RunId = id.parse()?;
    let stored = store.run(&id).await?;
    if stored.state == RunState::Finished {
        return Err(UsageError::Finished(id).into());
    }
    let settings: RunSettings = serde_json::from_value(stored.options)?;
    let repository = RepositoryArguments {
        path: Some(settings.repository.clone()),
        no_cache: arguments.measure.repository.no_cache,
        exclude: settings.exclude.clone(),
    };
    let scan = read_repository(configuration, &repository, ScanPurpose::Inventory)?;
    store.set_run_state(&id, RunState::Running, None, None).await?;
    let ledger = StoreLedger::resumed(store.clone(), id.clone(), settings.clone()).await?;
    let calling = RepositoryExecutor::of(&scan.inventory, &settings.python, &settings.modules).await?;
    let worth = RunTrackingContext::of(configuration, &scan.inventory, store).await?;
    let meter = EnergyMeter::start();
    let end = call_all(&scan.inventory, &settings, &calling, &ledger, (&id, None)).await?;
    let cycle = worth
        .cycle(
            arguments.measure.forecast_log.as_deref(),
            &end,
            !settings.modules.is_empty(),
            &meter,
            &calling,
        )
        .await?;
    keep(store, &id, &end, cycle.as_ref()).await?;
    Ok(EndedRun { id, settings, end, cycle })
}

pub(in crate::commands) fn settings(
    configuration: &Configuration,
    arguments: &MeasureOptions,
    inventory: &Inventory,
    modules: &[String],
    (round, seed): (usize, u64),
) -> anyhow::Result<RunSettings> {
    let asked = PresetSelectionRequest {
        files: &arguments.preset_file,
        count: arguments.preset_count,
        seed,
        round,
        only_these: arguments.only_these_presets,
    };
    let paths: Vec<String> = callable_sections(inventory, modules)
        .into_iter()
        .map(|target| target.path)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    Ok(RunSettings {
        repository: std::path::absolute(&inventory.root)?,
        exclude: arguments.repository.exclude.clone(),
        modules: modules.to_vec(),
        seed,
        timeout_ms: milliseconds(arguments.timeout.unwrap_or(USUAL_TIMEOUT)),
        python: String::new(),
        presets: presets::chosen(configuration, &asked, &paths)?.into_iter().map(Into::into).collect(),
        given: Vec::new(),
        source: super::stubs::source(configuration),
        digest: None,
        files: fingerprints(inventory),
        shrinking: None,
    })
}

/// A time in milliseconds.
pub(in crate::commands) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The interpreter of the repository, or the one that was named.
pub(in crate::commands) fn interpreter(inventory: &Inventory, arguments: &MeasureOptions) -> String {
    let variable = |name: &str| std::env::var_os(name).map(Into::into);
    let root = std::path::Path::new(&inventory.root);
    let found = find_interpreter(root, arguments.python.as_deref(), variable);
    note(&format!("interpreter: {} ({})", found.python, found.reason));
    found.python
}

async fn call_all(
    inventory: &Inventory,
    settings: &RunSettings,
    calling: &RepositoryExecutor,
    ledger: &StoreLedger,
    (id, until): (&RunId, Option<Instant>),
) -> anyhow::Result<RunEnd> {
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
    let progress = CallProgress::default();
    let (stopper, stop) = watch::channel(false);
    let end_of_time = until.map(|until| {
        let stopper = stopper.clone();
        tokio::spawn(async move {
            tokio::time::sleep_until(until.into()).await;
            stopper.send_replace(true);
        })
    });
    let mut asked = asked_to_stop();
    let watcher = tokio::spawn(async move {
        // Who tells lives as long as the process.
        if asked.wait_for(|asked| *asked).await.is_ok() {
            stopper.send_replace(true);
        }
    });
    let mut surroundings = RunContext { executor: &calling.executor, ledger, progress: &progress, stop };
    let wanted: Vec<CallableSection> = callable_sections(inventory, &settings.modules);
    let run = info_span!("run", id = %id, repository = inventory.root);
    let end = make_calls(&mut surroundings, wanted, &options).instrument(run).await;
    progress.finish();
    watcher.abort();
    if let Some(end_of_time) = end_of_time {
        end_of_time.abort();
    }
    let mut end = end?;
    match &mut end {
        RunEnd::Finished(report) => {
            report.name(id);
            let report = serde_json::to_value(&*report)?;
            store.set_run_state(id, RunState::Finished, Some(now_ms()), Some(&report)).await?;
        }
        RunEnd::Interrupted { .. } => {
            store.set_run_state(id, RunState::Interrupted, Some(now_ms()), None).await?;
        }
    }
    Ok(end)
}

fn finish(
    configuration: &Configuration,
    arguments: &RunArguments,
    ended: &[EndedRun],
) -> anyhow::Result<MenaceExit> {
    let mut exit = MenaceExit::Done;
    let mut reports: Vec<serde_json::Value> = Vec::new();
    for EndedRun { id, settings, end, cycle } in ended {
        match end {
            RunEnd::Interrupted { made, planned } => {
                note(&format!("stopped after {made} of {planned} calls; menace run --resume {id} goes on"));
                exit = MenaceExit::Interrupted;
            }
            RunEnd::Finished(report) => {
                let top = if arguments.measure.top == 0 { usize::MAX } else { arguments.measure.top };
                if !arguments.measure.output.json {
                    print(&self::report(report, top))?;
                    if let Some(cycle) = cycle {
                        print(&worth::roi_summary(cycle, top))?;
                    }
                }
                if let Some(directory) = &arguments.emit_tests {
                    emit::tests(directory, report, settings)?;
                }
                let is_incomplete = configuration.settings().presets.fail_on_missing_scenarios
                    && !say_missing(&missing_scenarios(report));
                if exit == MenaceExit::Done && (!report.failures.is_empty() || is_incomplete) {
                    exit = MenaceExit::Found;
                }
                reports.push(with_worth(report, cycle.as_ref())?);
            }
        }
    }
    match (arguments.measure.output.json, &reports[..]) {
        (false, _) | (true, []) => {}
        (true, [report]) => print_json(report)?,
        (true, reports) => print_json(&serde_json::json!({"version": 1, "runs": reports}))?,
    }
    Ok(exit)
}

/// Modules, each with a canonical scenario that none of its sections was called under, and why.
fn missing_scenarios(report: &RunReport) -> Vec<(String, &'static str, String)> {
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

fn say_missing(missing: &[(String, &'static str, String)]) -> bool {
    for (module, scenario, reason) in missing {
        tracing::error!("{module} was not called under {scenario}: {reason}");
    }
    missing.is_empty()
}

pub(in crate::commands) fn new_id() -> RunId {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds every hasher by chance, and no more than a name for a run is needed.
    let chance = std::collections::hash_map::RandomState::new().build_hasher().finish();
    RunId::new(now_ms().unsigned_abs(), chance)
}

/// The paths of modules that were named, by path or as Python imports them.
pub(in crate::commands) fn resolve_module_paths(
    inventory: &Inventory,
    names: &[String],
) -> Result<Vec<String>, UsageError> {
    let find = |name: &String| {
        let found = inventory.modules.iter().find(|module| module.path == *name || module.name == *name);
        found.map(|module| module.path.clone()).ok_or_else(|| UsageError::UnknownModule(name.clone()))
    };
    names.iter().map(find).collect()
}
