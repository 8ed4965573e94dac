//! `menace auto`: measure, propose, prove, keep or reject, and know when to stop.

mod adapted;
mod alone;
mod asked;
mod bench;
mod carried;
mod clock;
mod drive;
mod ideas;
mod improve;
mod orphans;
mod page;
mod recovery;
mod remembered;
mod report;
mod rules;
mod seen;
mod state;
mod stop;
mod tell;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::ids::RunId;
use menace_store::{RunState, Store};
use tracing::{Instrument, info_span};

use crate::arguments::{AutoArguments, RunCompleteArguments};
use crate::calling::{find_interpreter, now_ms, open_store, runtime};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::note;

use super::dashboard;
use super::exporters;
pub(super) use recovery::show as show_recovery;

use super::run::{milliseconds, new_id};
use super::usage::UsageError;
use drive::AutoRunDriver;
use state::{AutoRunLimits, AutoRunState};

/// How long a call may take if nobody says it: what does not end is waited for in each proof of each change, on both sides.
const TIMEOUT: Duration = Duration::from_secs(2);

pub(super) fn run(configuration: &Configuration, arguments: &AutoArguments) -> anyhow::Result<MenaceExit> {
    runtime()?.block_on(async {
        let store = open_store(configuration).await?;
        let (id, began_ms, progress, _alone) = match &arguments.recover {
            Some(name) => recover(configuration, &store, name.as_deref()).await?,
            None => begin(configuration, arguments, &store).await?,
        };
        let data = configuration.data_directory();
        let name = id.to_string();
        let arguments = &progress.original_arguments(arguments);
        let dashboard = dashboard::start_run_dashboard(configuration)?;
        let _exporters = exporters::beside_a_loop(configuration)?;
        let drive = AutoRunDriver {
            configuration,
            arguments,
            store: &store,
            id,
            began_ms,
            progress,
            failing_suites: BTreeSet::new(),
            suites: None,
        };
        let repository = drive.progress.repository.display().to_string();
        let span = info_span!("auto", run = name, repository);
        let exit = drive.run().instrument(span).await;
        if let Err(error) = &exit
            && !error.is::<UsageError>()
        {
            recovery::failed(&data, &name, now_ms(), &format!("{error:#}"))?;
        }
        if let Some(dashboard) = &dashboard {
            dashboard.wait_for_last_events().await;
        }
        store.close().await?;
        exit
    })
}

/// The last loop over a repository, if it did not end.
pub(super) async fn unfinished(
    configuration: &Configuration,
    repository: &Path,
) -> anyhow::Result<Option<RunId>> {
    let store = open_store(configuration).await?;
    let found = AutoRunState::unfinished(&store, repository).await?;
    store.close().await?;
    Ok(found)
}

pub(super) fn run_complete(
    configuration: &Configuration,
    arguments: RunCompleteArguments,
) -> anyhow::Result<MenaceExit> {
    let RunCompleteArguments { presets, mut auto } = arguments;
    auto.measure.preset_file = vec![presets];
    run(configuration, &auto)
}

/// The loop that is gone on with. One that still seems to run died, or there would be nothing to go on with.
async fn recover(
    configuration: &Configuration,
    store: &Store,
    name: Option<&str>,
) -> anyhow::Result<(RunId, i64, AutoRunState, File)> {
    let found = AutoRunState::recover(store, name).await?;
    let lock = alone::lock_run(configuration, &found.id)?;
    let data = configuration.data_directory();
    if found.died {
        let at_ms = store.last_event_ms(&found.id).await?.unwrap_or(found.began_ms);
        recovery::failed(&data, &found.id.to_string(), at_ms, "its process ended without a word")?;
    }
    // It may be ended by force again, and then it does not say so.
    store.set_run_state(&found.id, RunState::Running, None, None).await?;
    recovery::restarted(&data)?;
    Ok((found.id, found.began_ms, found.progress, lock))
}

async fn begin(
    configuration: &Configuration,
    arguments: &AutoArguments,
    store: &Store,
) -> anyhow::Result<(RunId, i64, AutoRunState, File)> {
    let measure = &arguments.measure;
    let root: PathBuf = std::path::absolute(configuration.repository(measure.repository.path.as_deref()))?;
    let mut progress = AutoRunState::new(root.clone());
    let variable = |name: &str| std::env::var_os(name).map(Into::into);
    let found = find_interpreter(&root, measure.python.as_deref(), variable);
    note(&format!("interpreter: {} ({})", found.python, found.reason));
    progress.python = found.python;
    progress.modules.clone_from(&measure.modules);
    progress.exclude.clone_from(&measure.repository.exclude);
    (progress.seed, progress.preset_count) = (measure.seed, measure.preset_count);
    progress.timeout_ms = milliseconds(measure.timeout.unwrap_or(TIMEOUT));
    progress.preset_file = measure.preset_file.iter().map(std::path::absolute).collect::<Result<_, _>>()?;
    let is_given = !progress.preset_file.is_empty() || configuration.settings().presets.env_presets.is_some();
    if progress.preset_count.is_none() && !is_given {
        // One preset of each kind of stress is met in every cycle; more by chance would only take longer.
        progress.preset_count = Some(0);
    }
    progress.allow_behaviour_change = arguments.allow_behaviour_change;
    progress.limits = AutoRunLimits {
        seconds: arguments.max_time.map(|time| time.as_secs_f64()),
        cost: arguments.max_cost,
        tokens: arguments.max_tokens,
    };
    let settings = &configuration.settings().improvement;
    let limit = if settings.run_cycles > 0 { settings.run_cycles } else { settings.cycles };
    progress.cycles = arguments.max_iterations.or(measure.runs).unwrap_or(limit as usize).max(1);
    let (id, began_ms) = (new_id(), now_ms());
    let lock = alone::lock_run(configuration, &id)?;
    progress.begin(store, &id).await?;
    Ok((id, began_ms, progress, lock))
}
