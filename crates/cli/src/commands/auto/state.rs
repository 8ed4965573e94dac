//! What is known of a loop, kept in the store so that it goes on after any end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::ids::RunId;
use menace_store::{RunRecord as StoredRun, RunState, Store};
use serde::{Deserialize, Serialize};

use super::seen::AutoCycleSummary;
use crate::arguments::AutoArguments;
use crate::calling::now_ms;
use crate::commands::usage::UsageError;

/// How a loop was asked for, and how far it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AutoRunState {
    /// Tells it from runs of calls alone.
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
    /// Cycles that began.
    pub(super) begun: Vec<StartedCycle>,
    /// Time that earlier parts of it took.
    pub(super) seconds: f64,
}

/// What it may spend; nothing means that there is no limit.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct AutoRunLimits {
    pub(super) seconds: Option<f64>,
    pub(super) cost: Option<f64>,
    pub(super) tokens: Option<u64>,
}

/// A cycle that began.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StartedCycle {
    /// The run of its calls, once there is one.
    pub(super) run: RunId,
    /// The commit that it began from.
    pub(super) base: String,
    /// The number of its first proposal.
    pub(super) first: u64,
    /// When it began: what was remembered later is not shown to a model in it.
    #[serde(default)]
    pub(super) at_ms: i64,
    /// Tokens of models that were spent before it.
    #[serde(default)]
    pub(super) tokens: u64,
    /// Money that was; nothing if a price is unknown.
    #[serde(default)]
    pub(super) money: Option<f64>,
    /// What it measured, once it ended.
    #[serde(default)]
    pub(super) seen: Option<AutoCycleSummary>,
    /// Where its presets come from. The presets themselves are kept with its run.
    #[serde(default)]
    pub(super) presets: String,
    /// Modules that nobody proposes changes for, by path.
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

    pub(super) async fn begin(&self, store: &Store, id: &RunId) -> anyhow::Result<()> {
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

    /// What was asked for when it began: who goes on with it does not say it again.
    pub(super) fn original_arguments(&self, now: &AutoArguments) -> AutoArguments {
        let mut asked = now.clone();
        asked.measure.seed = self.seed;
        asked.measure.preset_file.clone_from(&self.preset_file);
        asked.measure.preset_count = self.preset_count;
        asked.measure.repository.exclude.clone_from(&self.exclude);
        let limits = &self.limits;
        asked.max_time =
            now.max_time.or(limits.seconds.and_then(|time| Duration::try_from_secs_f64(time).ok()));
        asked.max_cost = now.max_cost.or(limits.cost);
        asked.max_tokens = now.max_tokens.or(limits.tokens);
        asked
    }

    /// Writes down how far it is.
    pub(super) async fn save(&self, store: &Store, id: &RunId) -> anyhow::Result<()> {
        Ok(store.plan_run(id, 0, &serde_json::to_value(self)?).await?)
    }

    /// The last loop over a repository, if it did not end.
    pub(super) async fn unfinished(store: &Store, repository: &Path) -> anyhow::Result<Option<RunId>> {
        let repository = std::path::absolute(repository)?.display().to_string();
        let is_of_it = |run: &StoredRun| run.options["kind"] == KIND && run.repository == repository;
        let last = store.runs(1_000).await?.into_iter().find(is_of_it);
        Ok(last.filter(|run| run.state != RunState::Finished).map(|run| run.id))
    }

    /// The loop with this name, or the last one that did not end.
    pub(super) async fn recover(store: &Store, name: Option<&str>) -> anyhow::Result<ResumedAutoRun> {
        let found = if let Some(name) = name {
            store.run(&name.parse()?).await?
        } else {
            let open = |run: &StoredRun| run.state != RunState::Finished && run.options["kind"] == KIND;
            store.runs(1_000).await?.into_iter().find(open).ok_or(UsageError::NothingToRecover)?
        };
        if found.state == RunState::Finished {
            return Err(UsageError::Finished(found.id).into());
        }
        let progress: Self =
            serde_json::from_value(found.options).map_err(|_| UsageError::NoLoop(found.id.clone()))?;
        let died = found.state == RunState::Running;
        Ok(ResumedAutoRun { id: found.id, began_ms: found.began_ms, died, progress })
    }
}

/// A loop that is gone on with.
pub(super) struct ResumedAutoRun {
    pub(super) id: RunId,
    pub(super) began_ms: i64,
    /// Nobody ended it.
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
