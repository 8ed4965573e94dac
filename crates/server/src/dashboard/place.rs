//! The data directory that is shown: its database, its history, its other files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use menace_model::ids::RunId;
use menace_model::inventory::Inventory;
use menace_store::{Run, RunState, Store, StoreError, SynergyHistory};
use menace_tracker::history::{History, read};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::feed::Feed;
use super::shared::Answers;
use crate::error::ApiError;

/// Where values of cycles are, beside the database.
const METRICS: &str = "sqlite:///metrics.db";

/// A repository as it is now.
#[derive(Debug, Clone)]
pub struct Repository {
    /// What is in it.
    pub inventory: Inventory,
    /// Modules that belong together: names of groups with their paths.
    pub groups: Vec<(String, Vec<String>)>,
}

/// Reads a repository, which is nothing that a server does by itself.
pub type Reading = Arc<dyn Fn(&Path) -> Result<Repository, String> + Send + Sync>;

/// Where everything comes from.
#[derive(Clone)]
pub struct Sources {
    /// The data directory.
    pub data: PathBuf,
    /// The address of the database; a relative one is in the data directory.
    pub database: String,
    /// The audit trail.
    pub audit: PathBuf,
    /// A history that is elsewhere.
    pub history: Option<PathBuf>,
    /// All settings with their sources, secrets masked.
    pub settings: Value,
    /// Who reads repositories.
    pub reading: Reading,
    /// Whether sandboxes are served at the same address.
    pub has_sandboxes: bool,
}

/// The sources, opened as they are needed: a run may begin after the dashboard did.
pub(super) struct Place {
    pub(super) sources: Sources,
    pub(super) feed: Feed,
    pub(super) answers: Arc<Answers>,
    store: OnceCell<Store>,
    metrics: OnceCell<Store>,
    /// The run that was asked for last, if it had ended: its report can have megabytes, and a page asks about it often.
    last: Mutex<Option<Arc<Run>>>,
}

impl Place {
    pub(super) fn new(sources: Sources) -> Self {
        let (store, metrics) = (OnceCell::new(), OnceCell::new());
        let answers = Arc::new(Answers::default());
        let feed = Feed::new(Arc::clone(&answers));
        Self { sources, feed, answers, store, metrics, last: Mutex::default() }
    }

    /// A run with its report.
    pub(super) async fn run(&self, id: &RunId) -> Result<Arc<Run>, ApiError> {
        let store = self.store().await?;
        let now = store.run_without_report(id).await?;
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A report is written once more after its run has ended, with what it is worth, and then the end is another.
        if let Some(last) =
            last.filter(|last| last.id == *id && last.ended_ms == now.ended_ms && last.state == now.state)
        {
            return Ok(last);
        }
        let run = Arc::new(store.run(id).await?);
        if run.state == RunState::Finished {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&run));
        }
        Ok(run)
    }

    /// The database, if there is one: who looks makes none.
    pub(super) async fn store(&self) -> Result<&Store, ApiError> {
        let Sources { data, database, .. } = &self.sources;
        if self.store.get().is_none() && !Store::is_there(database, data) {
            let message = format!("{} has no runs yet", data.display());
            return Err(unavailable("no_runs", message)
                .hint("menace auto REPO or menace run REPO makes one; --data-dir shows another directory"));
        }
        Ok(self.store.get_or_try_init(|| Store::open(database, data)).await?)
    }

    /// The values of cycles, if there are any.
    pub(super) async fn metrics(&self) -> Result<Option<&Store>, ApiError> {
        let data = &self.sources.data;
        // A history that is elsewhere has nothing to do with what is measured here.
        if self.sources.history.is_some() || !Store::is_there(METRICS, data) {
            return Ok(None);
        }
        Ok(Some(self.metrics.get_or_try_init(|| Store::open(METRICS, data)).await?))
    }

    fn history_path(&self) -> PathBuf {
        let usual = || self.sources.data.join("roi_history.json");
        self.sources.history.clone().unwrap_or_else(usual)
    }

    /// Whether there is a history, readable or not.
    pub(super) fn has_history(&self) -> bool {
        self.history_path().exists()
    }

    /// All cycles, as they are now. A history of synergy alone has no cycles.
    pub(super) async fn history(&self) -> Result<History, ApiError> {
        let path = self.history_path();
        if path.extension().is_some_and(|ending| ending == "db") {
            let missing = || unavailable("no_history", format!("there is no file {}", path.display()));
            let opened = SynergyHistory::look(&path).await?.ok_or_else(missing)?;
            let records = opened.after(0).await?.into_iter();
            return Ok(History {
                synergy_history: records.map(|one| one.values).collect(),
                ..History::default()
            });
        }
        let text = std::fs::read_to_string(&path).map_err(|error| {
            let message = match error.kind() {
                std::io::ErrorKind::NotFound => {
                    format!("no cycle has ended, so there is no {}", path.display())
                }
                _ => format!("{}: {error}", path.display()),
            };
            unavailable("no_history", message)
                .hint("the first cycle that ends writes it: menace run REPO or menace auto REPO")
        })?;
        read(&text).map_err(|error| unavailable("no_history", format!("{}: {error}", path.display())))
    }

    /// A file of JSON in the data directory, if there is one.
    pub(super) fn file(&self, name: &str) -> Result<Option<Value>, ApiError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let value = serde_json::from_str(&text).map_err(|error| self.unreadable(name, &error.to_string()))?;
        Ok(Some(value))
    }

    /// The lines of a file of JSON lines; none if there is no file. A last one that was not written to its end is left out.
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

/// Something that is not there, and why.
pub(super) fn unavailable(code: &str, message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, code, message)
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::NoRun(_) => unavailable("run_not_found", error.to_string()),
            StoreError::NoCall(_) => unavailable("call_not_found", error.to_string()),
            _ => Self::internal(error.to_string()),
        }
    }
}
