//! The data directory shown by the dashboard: its database, its history and its other files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use menace_model::ids::RunId;
use menace_model::inventory::Inventory;
use menace_model::runs::StoredReport;
use menace_store::{RunRecord, RunState, Store, SynergyHistory};
use menace_tracker::history::{RoiHistory, read};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::event_feed::EventFeed;
use super::response_cache::ResponseCache;
use crate::error::ApiError;

/// Database with the metrics of cycles.
const METRICS: &str = "sqlite:///metrics.db";

/// Current state of a repository.
#[derive(Debug, Clone)]
pub struct ScannedRepository {
    /// Inventory of the repository.
    pub inventory: Inventory,
    /// Groups of modules: name and paths.
    pub groups: Vec<(String, Vec<String>)>,
}

/// Function that scans a repository; provided by the caller, since this crate does not depend on the analysis.
pub type RepositoryScanner =
    Arc<dyn Fn(&Path) -> Result<ScannedRepository, Box<dyn std::error::Error + Send + Sync>> + Send + Sync>;

/// Data sources of the dashboard.
#[derive(Clone)]
pub struct DashboardSources {
    /// The data directory.
    pub data: PathBuf,
    /// URL of the database; a relative path is resolved in the data directory.
    pub database: String,
    /// The audit trail.
    pub audit: PathBuf,
    /// Path of a history outside the data directory.
    pub history: Option<PathBuf>,
    /// All settings with their sources, secrets masked.
    pub settings: Value,
    /// Scans repositories.
    pub reading: RepositoryScanner,
    /// True if sandboxes are served at the same address.
    pub has_sandboxes: bool,
}

/// The sources, opened on demand because a run may start after the dashboard.
pub(super) struct DashboardState {
    pub(super) sources: DashboardSources,
    pub(super) feed: EventFeed,
    pub(super) answers: Arc<ResponseCache>,
    store: OnceCell<Store>,
    metrics: OnceCell<Store>,
    /// Last requested run, if finished: its report can have megabytes, and a page requests it often.
    last: Mutex<Option<Arc<ReportedRun>>>,
}

/// A run with the report of its calls.
pub(super) struct ReportedRun {
    pub(super) record: RunRecord,
    /// Whether the run has a report of any kind.
    pub(super) is_final: bool,
    /// Report of its calls, if it has made calls itself and has finished.
    pub(super) report: Option<StoredReport>,
}

impl DashboardState {
    pub(super) fn new(sources: DashboardSources) -> Self {
        let (store, metrics) = (OnceCell::new(), OnceCell::new());
        let answers = Arc::new(ResponseCache::default());
        let feed = EventFeed::new(Arc::clone(&answers));
        Self { sources, feed, answers, store, metrics, last: Mutex::default() }
    }

    /// A run with its report.
    pub(super) async fn run(&self, id: &RunId) -> Result<Arc<ReportedRun>, ApiError> {
        let store = self.store().await?;
        let now = store.run_without_report(id).await?;
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // The report is written again after the run has ended, with its ROI, and the end time changes then.
        let is_same =
            |last: &RunRecord| last.id == *id && last.ended_ms == now.ended_ms && last.state == now.state;
        if let Some(last) = last.filter(|last| is_same(&last.record)) {
            return Ok(last);
        }
        let mut record = store.run(id).await?;
        let report = record.call_report();
        let is_final = record.report.take().is_some();
        let run = Arc::new(ReportedRun { record, is_final, report });
        if run.record.state == RunState::Finished {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&run));
        }
        Ok(run)
    }

    /// The database. It is opened only if it exists; the dashboard does not create one.
    pub(super) async fn store(&self) -> Result<&Store, ApiError> {
        let DashboardSources { data, database, .. } = &self.sources;
        if self.store.get().is_none() && !Store::exists(database, data) {
            let message = format!("{} has no runs yet", data.display());
            return Err(unavailable("no_runs", message)
                .hint("start one with 'menace auto REPO' or 'menace run REPO', or choose another directory with --data-dir"));
        }
        Ok(self.store.get_or_try_init(|| Store::open(database, data)).await?)
    }

    /// Database with the metrics of cycles, if it exists.
    pub(super) async fn metrics(&self) -> Result<Option<&Store>, ApiError> {
        let data = &self.sources.data;
        // A history outside the data directory does not belong to the metrics in it.
        if self.sources.history.is_some() || !Store::exists(METRICS, data) {
            return Ok(None);
        }
        Ok(Some(self.metrics.get_or_try_init(|| Store::open(METRICS, data)).await?))
    }

    fn history_path(&self) -> PathBuf {
        let usual = || self.sources.data.join("roi_history.json");
        self.sources.history.clone().unwrap_or_else(usual)
    }

    /// True if the history file exists, readable or not.
    pub(super) fn has_history(&self) -> bool {
        self.history_path().exists()
    }

    /// Current history of all cycles. A synergy database alone has no cycles.
    pub(super) async fn history(&self) -> Result<RoiHistory, ApiError> {
        let path = self.history_path();
        if path.extension().is_some_and(|ending| ending == "db") {
            let missing = || unavailable("no_history", format!("{} does not exist", path.display()));
            let opened = SynergyHistory::open_existing(&path).await?.ok_or_else(missing)?;
            let records = opened.after(0).await?.into_iter();
            return Ok(RoiHistory {
                synergy_history: records.map(|one| one.values).collect(),
                ..RoiHistory::default()
            });
        }
        let text = std::fs::read_to_string(&path).map_err(|error| {
            let message = match error.kind() {
                std::io::ErrorKind::NotFound => {
                    format!("no cycle has finished yet: {} does not exist", path.display())
                }
                _ => format!("{}: {error}", path.display()),
            };
            unavailable("no_history", message)
                .hint("run a cycle with 'menace run REPO' or 'menace auto REPO'")
        })?;
        read(&text).map_err(|error| unavailable("no_history", format!("{}: {error}", path.display())))
    }

    /// JSON file in the data directory, if it exists.
    pub(super) fn file(&self, name: &str) -> Result<Option<Value>, ApiError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let value = serde_json::from_str(&text).map_err(|error| self.unreadable(name, &error.to_string()))?;
        Ok(Some(value))
    }

    /// Lines of a JSON lines file; empty if it does not exist. An incomplete last line is skipped.
    pub(super) fn lines(&self, name: &str) -> Result<Vec<Value>, ApiError> {
        let text = self.text(name)?.unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let read = |(at, line): (usize, &str)| {
            let problem = |error| self.unreadable(name, &format!("line {}: {error}", at + 1));
            serde_json::from_str(line).map_err(problem)
        };
        whole.lines().enumerate().map(read).collect()
    }

    fn text(&self, name: &str) -> Result<Option<String>, ApiError> {
        match std::fs::read_to_string(self.sources.data.join(name)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            text => text.map(Some).map_err(|error| self.unreadable(name, &error.to_string())),
        }
    }

    fn unreadable(&self, name: &str, problem: &str) -> ApiError {
        ApiError::internal(format!("{}: {problem}", self.sources.data.join(name).display()))
    }
}

/// Error for data that does not exist, with the reason.
pub(super) fn unavailable(code: &str, message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, code, message)
}
