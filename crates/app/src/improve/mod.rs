//! `menace auto`: measures a repository, requests proposals, verifies them, keeps those that are better, and stops when
//! more cycles are not worth their cost.

mod cycle_summary;
mod driver;
mod elapsed_time;
mod ideas;
mod improve_step;
mod local_workbench;
mod orphan_selection;
mod preset_adaptation;
mod progress;
mod proposers;
mod recall;
mod recovery_file;
mod report_page;
mod review_rules;
mod run_lock;
mod run_report;
mod run_state;
mod stop_reason;
mod unchanged_modules;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::ids::RunId;
use menace_store::{RunState, Store};
use tracing::{Instrument, info_span};

use crate::calling::{choose_interpreter, now_ms, open_store};
use crate::measure::{MeasureRequest, absolute, milliseconds, new_id};
use crate::{AppContext, AppError};
pub use cycle_summary::{AutoCycleSummary, ModuleCycleSummary};
use driver::AutoRunDriver;
pub use recovery_file::{FailedRunRecord, RecoveryFile, recovery_path};
pub use run_report::{AutoRunCost, AutoRunReport, ModuleChange, share, spent, unmet_condition};
use run_state::{AutoRunLimits, AutoRunState};
pub use stop_reason::{ConvergenceReason, RunStopReason};

/// Default timeout of a call; verification waits for it before and after every proposal.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(2);

/// Request for a run of `menace auto`.
#[derive(Debug, Clone, Default)]
pub struct AutoRequest {
    /// Options of the measurements in every cycle. `runs` limits the number of cycles.
    pub measure: MeasureRequest,
    /// Time limit.
    pub max_time: Option<Duration>,
    /// Limit of the money spent on models.
    pub max_cost: Option<f64>,
    /// Limit of the tokens spent on models.
    pub max_tokens: Option<u64>,
    /// Limit of the number of cycles.
    pub max_iterations: Option<usize>,
    /// Whether a kept patch may change return values.
    pub allow_behaviour_change: bool,
    /// The run to resume: the last unfinished one, or the one with this id. `None` starts a new run.
    pub recover: Option<RecoverTarget>,
    /// File that receives the decisions of preset adaptation.
    pub adaptation_log: Option<PathBuf>,
    /// Directory of report.html and report.json; `None` for that of the run.
    pub report: Option<PathBuf>,
}

/// The run to resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecoverTarget {
    /// The last unfinished run.
    Last,
    /// The run with this id.
    Id(String),
}

/// End of a run.
pub enum AutoEnd {
    /// The run is complete; its report is in the directory.
    Finished {
        /// The report.
        report: Box<AutoRunReport>,
        /// Directory of report.html and report.json.
        directory: PathBuf,
    },
    /// The user interrupted the run.
    Interrupted(RunId),
}

/// Starts or resumes a run, and executes it to its end.
pub async fn run(context: &AppContext, request: &AutoRequest) -> Result<AutoEnd, AppError> {
    let store = open_store(context).await?;
    let (id, began_ms, progress, _lock) = match &request.recover {
        Some(target) => recover(context, &store, target).await?,
        None => begin(context, request, &store).await?,
    };
    let request = &progress.original_request(request);
    let driver = AutoRunDriver {
        context,
        request,
        store: &store,
        id: id.clone(),
        began_ms,
        progress,
        failing_suites: BTreeSet::new(),
        suites: None,
    };
    let repository = driver.progress.repository.display().to_string();
    let name = id.to_string();
    let span = info_span!("auto", run = name, repository);
    let end = driver.run().instrument(span).await;
    if let Err(error) = &end
        && !matches!(error, AppError::Request(_))
    {
        recovery_file::failed(&context.data_directory(), &name, now_ms(), &error.to_string())?;
    }
    store.close().await?;
    end
}

/// The last run over a repository, if it did not finish.
pub async fn unfinished(context: &AppContext, repository: &Path) -> Result<Option<RunId>, AppError> {
    let store = open_store(context).await?;
    let found = AutoRunState::unfinished(&store, repository).await?;
    store.close().await?;
    Ok(found)
}

/// Prepares to resume a run. A run recorded as running whose lock is free has died.
async fn recover(
    context: &AppContext,
    store: &Store,
    target: &RecoverTarget,
) -> Result<(RunId, i64, AutoRunState, File), AppError> {
    let id = match target {
        RecoverTarget::Last => None,
        RecoverTarget::Id(id) => Some(id.as_str()),
    };
    let found = AutoRunState::recover(store, id).await?;
    let lock = run_lock::lock_run(context, &found.id)?;
    let data = context.data_directory();
    if found.died {
        let at_ms = store.last_event_ms(&found.id).await?.unwrap_or(found.began_ms);
        recovery_file::failed(&data, &found.id.to_string(), at_ms, "its process died")?;
    }
    // If this process dies too, the run is found in this state again.
    store.set_run_state(&found.id, RunState::Running, None, None).await?;
    recovery_file::restarted(&data)?;
    Ok((found.id, found.began_ms, found.progress, lock))
}

async fn begin(
    context: &AppContext,
    request: &AutoRequest,
    store: &Store,
) -> Result<(RunId, i64, AutoRunState, File), AppError> {
    let measure = &request.measure;
    let root = absolute(context.repository(measure.repository.as_deref()))?;
    let mut progress = AutoRunState::new(root.clone());
    progress.python = choose_interpreter(context, &root, measure.python.as_deref());
    progress.modules.clone_from(&measure.modules);
    progress.exclude.clone_from(&measure.exclude);
    (progress.seed, progress.preset_count) = (measure.seed, measure.preset_count);
    progress.timeout_ms = milliseconds(measure.timeout.unwrap_or(DEFAULT_TIMEOUT));
    progress.preset_file = measure.preset_files.iter().map(absolute).collect::<Result<_, _>>()?;
    let is_given = !progress.preset_file.is_empty() || context.settings().presets.env_presets.is_some();
    if progress.preset_count.is_none() && !is_given {
        // Every cycle has one preset for each kind of stress; generated presets would only add time.
        progress.preset_count = Some(0);
    }
    progress.allow_behaviour_change = request.allow_behaviour_change;
    progress.limits = AutoRunLimits {
        seconds: request.max_time.map(|time| time.as_secs_f64()),
        cost: request.max_cost,
        tokens: request.max_tokens,
    };
    let settings = &context.settings().improvement;
    let limit = if settings.run_cycles > 0 { settings.run_cycles } else { settings.cycles };
    progress.cycles = request.max_iterations.or(measure.runs).unwrap_or(limit as usize).max(1);
    let (id, began_ms) = (new_id(), now_ms());
    let lock = run_lock::lock_run(context, &id)?;
    progress.begin(store, &id).await?;
    Ok((id, began_ms, progress, lock))
}
