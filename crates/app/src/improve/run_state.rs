//! State of a run, kept in the store so that the run can be resumed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::ids::RunId;
use menace_store::{RunRecord as StoredRun, RunState, Store};
use serde::{Deserialize, Serialize};

use super::AutoRequest;
use super::cycle_summary::AutoCycleSummary;
use crate::calling::now_ms;
use crate::measure::absolute;
use crate::{AppError, RequestError};

/// Request and progress of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AutoRunState {
    /// Distinguishes it from runs of `menace run`.
    kind: String,
    pub(super) repository: PathBuf,
    pub(super) modules: Vec<String>,
    pub(super) exclude: Vec<String>,
    pub(super) seed: u64,
    pub(super) timeout_ms: u64,
    pub(super) python: String,
    pub(super) preset_file: Vec<PathBuf>,
    pub(super) preset_count: Option<usize>,
    pub(super) cycles: usize,
    pub(super) allow_behaviour_change: bool,
    #[serde(default)]
    pub(super) limits: AutoRunLimits,
    /// Started cycles.
    pub(super) begun: Vec<StartedCycle>,
    /// Elapsed time of the run until it was last saved.
    pub(super) seconds: f64,
}

/// Limits of a run; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct AutoRunLimits {
    pub(super) seconds: Option<f64>,
    pub(super) cost: Option<f64>,
    pub(super) tokens: Option<u64>,
}

/// A started cycle.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StartedCycle {
    /// Run with the calls of the cycle.
    pub(super) run: RunId,
    /// Commit at the start of the cycle.
    pub(super) base: String,
    /// Number of its first proposal.
    pub(super) first: u64,
    /// Start time in milliseconds; later memories are not used in its prompts.
    #[serde(default)]
    pub(super) at_ms: i64,
    /// Tokens spent before the cycle.
    #[serde(default)]
    pub(super) tokens: u64,
    /// Cost before the cycle; `None` if a price is unknown.
    #[serde(default)]
    pub(super) money: Option<f64>,
    /// Summary, once the cycle is finished.
    #[serde(default)]
    pub(super) seen: Option<AutoCycleSummary>,
    /// Origin of its presets; the presets are stored with its run.
    #[serde(default)]
    pub(super) presets: String,
    /// Paths of modules without proposals.
    #[serde(default)]
    pub(super) left_alone: Vec<String>,
}

const KIND: &str = "auto";

impl AutoRunState {
    pub(super) fn new(repository: PathBuf) -> Self {
        Self {
            kind: KIND.into(),
            repository,
            modules: Vec::new(),
            exclude: Vec::new(),
            seed: 0,
            timeout_ms: 0,
            python: String::new(),
            preset_file: Vec::new(),
            preset_count: None,
            cycles: 1,
            allow_behaviour_change: false,
            limits: AutoRunLimits::default(),
            begun: Vec::new(),
            seconds: 0.0,
        }
    }

    pub(super) async fn begin(&self, store: &Store, id: &RunId) -> Result<(), AppError> {
        let stored = StoredRun {
            id: id.clone(),
            repository: self.repository.display().to_string(),
            state: RunState::Running,
            seed: self.seed,
            began_ms: now_ms(),
            ended_ms: None,
            planned: 0,
            options: serde_json::to_value(self)?,
            report: None,
        };
        Ok(store.begin_run(&stored).await?)
    }

    /// The request that started the run, for resuming it. Limits can be changed.
    pub(super) fn original_request(&self, now: &AutoRequest) -> AutoRequest {
        let mut request = now.clone();
        request.measure.seed = self.seed;
        request.measure.preset_files.clone_from(&self.preset_file);
        request.measure.preset_count = self.preset_count;
        request.measure.exclude.clone_from(&self.exclude);
        let limits = &self.limits;
        request.max_time =
            now.max_time.or(limits.seconds.and_then(|time| Duration::try_from_secs_f64(time).ok()));
        request.max_cost = now.max_cost.or(limits.cost);
        request.max_tokens = now.max_tokens.or(limits.tokens);
        request
    }

    /// Saves the state in the store.
    pub(super) async fn save(&self, store: &Store, id: &RunId) -> Result<(), AppError> {
        Ok(store.plan_run(id, 0, &serde_json::to_value(self)?).await?)
    }

    /// The last run over a repository, if it is unfinished.
    pub(super) async fn unfinished(store: &Store, repository: &Path) -> Result<Option<RunId>, AppError> {
        let repository = absolute(repository)?.display().to_string();
        let is_of_repository = |run: &StoredRun| run.options["kind"] == KIND && run.repository == repository;
        let last = store.runs(1_000).await?.into_iter().find(is_of_repository);
        Ok(last.filter(|run| run.state != RunState::Finished).map(|run| run.id))
    }

    /// The run with this id, or the last unfinished one.
    pub(super) async fn recover(store: &Store, name: Option<&str>) -> Result<ResumedAutoRun, AppError> {
        let found = if let Some(name) = name {
            store.run(&name.parse()?).await?
        } else {
            let is_unfinished =
                |run: &StoredRun| run.state != RunState::Finished && run.options["kind"] == KIND;
            store.runs(1_000).await?.into_iter().find(is_unfinished).ok_or(RequestError::NothingToRecover)?
        };
        if found.state == RunState::Finished {
            return Err(RequestError::Finished(found.id).into());
        }
        let progress: Self =
            serde_json::from_value(found.options).map_err(|_| RequestError::NotAutoRun(found.id.clone()))?;
        let died = found.state == RunState::Running;
        Ok(ResumedAutoRun { id: found.id, began_ms: found.began_ms, died, progress })
    }
}

/// A resumed run.
pub(super) struct ResumedAutoRun {
    pub(super) id: RunId,
    pub(super) began_ms: i64,
    /// Whether the process of the run died.
    pub(super) died: bool,
    pub(super) progress: AutoRunState,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use menace_model::runs::{RunKind, StoredRunOptions};

    use super::*;

    #[test]
    fn readers_of_the_store_understand_the_state() {
        let run: RunId = "r_01kbz7q3m9x4vt".parse().unwrap();
        let cycle = StartedCycle {
            run: run.clone(),
            base: "abc".into(),
            first: 2,
            at_ms: 1,
            tokens: 0,
            money: None,
            seen: Some(AutoCycleSummary {
                calls: 7,
                failures: 1,
                roi: None,
                forecast: Some((0.5, None)),
                seconds: 1.5,
                modules: BTreeMap::new(),
            }),
            presets: "canonical".into(),
            left_alone: Vec::new(),
        };
        let limits = AutoRunLimits { seconds: Some(60.0), cost: None, tokens: Some(9) };
        let state =
            AutoRunState { cycles: 3, limits, begun: vec![cycle], ..AutoRunState::new("/shop".into()) };
        let read = StoredRunOptions::deserialize(&serde_json::to_value(&state).unwrap()).unwrap();
        assert_eq!(
            (read.kind, read.repository.as_deref(), read.cycles),
            (RunKind::Auto, Some("/shop"), Some(3))
        );
        assert_eq!((read.limits.seconds, read.limits.tokens), (Some(60.0), Some(9)));
        let cycle = read.cycle_of(&run).unwrap();
        assert_eq!((cycle.base.as_deref(), cycle.first), (Some("abc"), Some(2)));
        let seen = cycle.seen.as_ref().unwrap();
        assert_eq!((seen.calls, seen.forecast), (Some(7), Some((0.5, None))));
    }
}
