//! Runs.

use menace_model::ids::RunId;
use menace_model::runs::{StoredReport, StoredRunOptions};
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::Expr;
use sea_orm::{ActiveModelTrait, ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entities::run;
use crate::{Store, StoreError};

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Running, or its process died.
    Running,
    /// Interrupted by its user.
    Interrupted,
    /// Finished.
    Finished,
}

impl RunState {
    const ALL: [Self; 3] = [Self::Running, Self::Interrupted, Self::Finished];

    /// Name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
        }
    }
}

/// A stored run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRecord {
    /// Id of the run.
    pub id: RunId,
    /// Path of the repository.
    pub repository: String,
    /// State of the run.
    pub state: RunState,
    /// Seed of every random choice.
    pub seed: u64,
    /// Start, in milliseconds since 1970.
    pub began_ms: i64,
    /// End, in milliseconds since 1970.
    pub ended_ms: Option<i64>,
    /// Number of planned calls.
    pub planned: u64,
    /// Options of the run, from which it can be resumed.
    pub options: Value,
    /// Report, once the run has finished.
    pub report: Option<Value>,
}

impl RunRecord {
    /// The options that every reader understands; defaults if they are unreadable.
    pub fn known_options(&self) -> StoredRunOptions {
        StoredRunOptions::deserialize(&self.options).unwrap_or_default()
    }

    /// The report of its calls; `None` if there is none, or if it is of another kind.
    pub fn call_report(&self) -> Option<StoredReport> {
        let report = StoredReport::deserialize(self.report.as_ref()?).ok()?;
        report.cells.is_some().then_some(report)
    }
}

impl Store {
    /// Stores a new run.
    pub async fn begin_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        let row = run::ActiveModel {
            id: Set(run.id.to_string()),
            repository: Set(run.repository.clone()),
            state: Set(run.state.name().into()),
            seed: Set(run.seed.to_string()),
            began_ms: Set(run.began_ms),
            ended_ms: Set(run.ended_ms),
            planned: Set(run.planned.cast_signed()),
            options: Set(run.options.to_string()),
            report: Set(run.report.as_ref().map(Value::to_string)),
        };
        run::Entity::insert(row)
            .exec_without_returning(self.connection())
            .await
            .map_err(StoreError::query("store a run"))?;
        Ok(())
    }

    /// Stores the number of planned calls and the options of a run.
    pub async fn plan_run(&self, id: &RunId, planned: u64, options: &Value) -> Result<(), StoreError> {
        let row = run::ActiveModel {
            id: Set(id.to_string()),
            planned: Set(planned.cast_signed()),
            options: Set(options.to_string()),
            ..Default::default()
        };
        row.update(self.connection()).await.map_err(StoreError::query("store the plan of a run"))?;
        Ok(())
    }

    /// Stores the state of a run that ends or resumes.
    pub async fn set_run_state(
        &self,
        id: &RunId,
        state: RunState,
        ended_ms: Option<i64>,
        report: Option<&Value>,
    ) -> Result<(), StoreError> {
        let row = run::ActiveModel {
            id: Set(id.to_string()),
            state: Set(state.name().into()),
            ended_ms: Set(ended_ms),
            report: Set(report.map(Value::to_string)),
            ..Default::default()
        };
        row.update(self.connection()).await.map_err(StoreError::query("store the state of a run"))?;
        Ok(())
    }

    /// Reads a run.
    pub async fn run(&self, id: &RunId) -> Result<RunRecord, StoreError> {
        let row = run::Entity::find_by_id(id.to_string()).one(self.connection()).await;
        let row = row.map_err(StoreError::query("read a run"))?;
        of_row(&row.ok_or_else(|| StoreError::NoRun(id.clone()))?)
    }

    /// Reads a run without its report, which can have megabytes.
    pub async fn run_without_report(&self, id: &RunId) -> Result<RunRecord, StoreError> {
        let found = without_report().filter(run::Column::Id.eq(id.to_string())).one(self.connection());
        let row = found.await.map_err(StoreError::query("read a run"))?;
        of_row(&row.ok_or_else(|| StoreError::NoRun(id.clone()))?)
    }

    /// The latest runs, newest first, without their reports.
    pub async fn runs(&self, limit: u64) -> Result<Vec<RunRecord>, StoreError> {
        let rows = without_report().order_by_desc(run::Column::Id).limit(limit).all(self.connection());
        let rows = rows.await.map_err(StoreError::query("read the runs"))?;
        rows.iter().map(of_row).collect()
    }
}

/// Selects everything but the report, which is not even read.
fn without_report() -> sea_orm::Select<run::Entity> {
    let columns = [
        run::Column::Id,
        run::Column::Repository,
        run::Column::State,
        run::Column::Seed,
        run::Column::BeganMs,
        run::Column::EndedMs,
        run::Column::Planned,
        run::Column::Options,
    ];
    let find = run::Entity::find().select_only().columns(columns);
    find.column_as(Expr::value(None::<String>), run::Column::Report)
}

fn of_row(row: &run::Model) -> Result<RunRecord, StoreError> {
    let wrong = |reason: String| StoreError::Content { what: format!("run {}", row.id), reason };
    let state = RunState::ALL.into_iter().find(|state| state.name() == row.state);
    let json = |text: &str| serde_json::from_str(text).map_err(|error| wrong(error.to_string()));
    Ok(RunRecord {
        id: row.id.parse().map_err(|error: menace_model::ids::IdError| wrong(error.to_string()))?,
        repository: row.repository.clone(),
        state: state.ok_or_else(|| wrong(format!("unknown state {:?}", row.state)))?,
        seed: row.seed.parse().map_err(|_| wrong(format!("invalid seed {:?}", row.seed)))?,
        began_ms: row.began_ms,
        ended_ms: row.ended_ms,
        planned: row.planned.cast_unsigned(),
        options: json(&row.options)?,
        report: row.report.as_deref().map(json).transpose()?,
    })
}
