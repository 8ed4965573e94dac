//! Calls and their outcomes.

use menace_model::calls::OutcomeKind;
use menace_model::ids::{CallId, RunId};
use menace_model::runs::{StoredCall, StoredOutcome};
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, TransactionTrait};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entities::{call, outcome};
use crate::{Store, StoreError};

/// A call with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRecord {
    /// Its id.
    pub id: CallId,
    /// `module:qualname`.
    pub section: String,
    /// The scenario.
    pub scenario: String,
    /// Everything that is needed to replay the call.
    pub spec: Value,
    /// Kind of outcome.
    pub kind: OutcomeKind,
    /// Wall-clock time in milliseconds.
    pub wall_ms: f64,
    /// All other parts of the outcome.
    pub detail: Value,
}

/// Number of calls of one section under one scenario with one kind of outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellCount {
    /// `module:qualname`.
    pub section: String,
    /// The scenario.
    pub scenario: String,
    /// Kind of outcome.
    pub kind: String,
    /// Number of calls.
    pub count: u64,
}

/// Filter of the calls of a run.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    /// Only of this kind.
    pub kind: Option<OutcomeKind>,
    /// Only of this section.
    pub section: Option<String>,
    /// Only under this scenario.
    pub scenario: Option<String>,
    /// Only calls after this number.
    pub after: Option<u64>,
    /// Maximum number of calls.
    pub limit: u64,
}

impl CallRecord {
    /// Fields that display the call; defaults if it is unreadable.
    pub fn call(&self) -> StoredCall {
        StoredCall::deserialize(&self.spec).unwrap_or_default()
    }

    /// Fields that display its outcome; defaults if it is unreadable.
    pub fn outcome(&self) -> StoredOutcome {
        StoredOutcome::deserialize(&self.detail).unwrap_or_default()
    }
}

impl Store {
    /// Stores calls, all or none. A call that is already stored stays unchanged.
    pub async fn record(&self, records: &[CallRecord]) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        let failed = || StoreError::query("store calls");
        let transaction = self.connection().begin().await.map_err(failed())?;
        let key = || OnConflict::columns([call::Column::Run, call::Column::Number]).do_nothing().to_owned();
        call::Entity::insert_many(records.iter().map(call_row))
            .on_conflict(key())
            .exec_without_returning(&transaction)
            .await
            .map_err(failed())?;
        outcome::Entity::insert_many(records.iter().map(outcome_row))
            .on_conflict(key())
            .exec_without_returning(&transaction)
            .await
            .map_err(failed())?;
        transaction.commit().await.map_err(failed())
    }

    /// One call.
    pub async fn call(&self, id: &CallId) -> Result<CallRecord, StoreError> {
        let key = (id.run().to_string(), id.number().cast_signed());
        let found = outcome::Entity::find_by_id(key).find_also_related(call::Entity).one(self.connection());
        match found.await.map_err(StoreError::query("read a call"))? {
            Some((outcome, Some(call))) => of_rows(id.run(), &outcome, call),
            _ => Err(StoreError::NoCall(id.clone())),
        }
    }

    /// A page of the calls of a run, in the order of its plan.
    pub async fn calls(&self, run: &RunId, filter: &CallFilter) -> Result<Vec<CallRecord>, StoreError> {
        let mut query = outcome::Entity::find().filter(outcome::Column::Run.eq(run.to_string()));
        if let Some(kind) = filter.kind {
            query = query.filter(outcome::Column::Kind.eq(kind.name()));
        }
        if let Some(after) = filter.after {
            query = query.filter(outcome::Column::Number.gt(after.cast_signed()));
        }
        let mut query = query.find_also_related(call::Entity);
        if let Some(section) = &filter.section {
            query = query.filter(call::Column::Section.eq(section.as_str()));
        }
        if let Some(scenario) = &filter.scenario {
            query = query.filter(call::Column::Scenario.eq(scenario.as_str()));
        }
        let rows = query.order_by_asc(outcome::Column::Number).limit(filter.limit).all(self.connection());
        let rows = rows.await.map_err(StoreError::query("read calls"))?;
        rows.into_iter().filter_map(|(outcome, call)| Some(of_rows(run, &outcome, call?))).collect()
    }

    /// Number of calls of a run by kind of outcome.
    pub async fn kinds(&self, run: &RunId) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, i64)> = outcome::Entity::find()
            .select_only()
            .column(outcome::Column::Kind)
            .column_as(outcome::Column::Number.count(), "count")
            .filter(outcome::Column::Run.eq(run.to_string()))
            .group_by(outcome::Column::Kind)
            .into_tuple()
            .all(self.connection())
            .await
            .map_err(StoreError::query("count calls"))?;
        Ok(rows.into_iter().map(|(kind, count)| (kind, count.cast_unsigned())).collect())
    }
}

impl Store {
    /// Number of calls by section, scenario and kind of outcome, as far as the run has come.
    pub async fn cells(&self, run: &RunId) -> Result<Vec<CellCount>, StoreError> {
        let rows: Vec<(String, String, String, i64)> = outcome::Entity::find()
            .inner_join(call::Entity)
            .select_only()
            .column(call::Column::Section)
            .column(call::Column::Scenario)
            .column(outcome::Column::Kind)
            .column_as(outcome::Column::Number.count(), "count")
            .filter(outcome::Column::Run.eq(run.to_string()))
            .group_by(call::Column::Section)
            .group_by(call::Column::Scenario)
            .group_by(outcome::Column::Kind)
            .into_tuple()
            .all(self.connection())
            .await
            .map_err(StoreError::query("count the calls of cells"))?;
        let of = |(section, scenario, kind, count): (String, String, String, i64)| CellCount {
            section,
            scenario,
            kind,
            count: count.cast_unsigned(),
        };
        Ok(rows.into_iter().map(of).collect())
    }
}

fn call_row(record: &CallRecord) -> call::ActiveModel {
    call::ActiveModel {
        run: Set(record.id.run().to_string()),
        number: Set(record.id.number().cast_signed()),
        section: Set(record.section.clone()),
        scenario: Set(record.scenario.clone()),
        spec: Set(record.spec.to_string()),
    }
}

fn outcome_row(record: &CallRecord) -> outcome::ActiveModel {
    outcome::ActiveModel {
        run: Set(record.id.run().to_string()),
        number: Set(record.id.number().cast_signed()),
        kind: Set(record.kind.name().into()),
        wall_ms: Set(record.wall_ms),
        detail: Set(record.detail.to_string()),
    }
}

fn of_rows(run: &RunId, outcome: &outcome::Model, call: call::Model) -> Result<CallRecord, StoreError> {
    let id = run.call(outcome.number.cast_unsigned());
    let wrong = |reason: String| StoreError::Content { what: format!("call {id}"), reason };
    let json = |text: &str| serde_json::from_str(text).map_err(|error| wrong(error.to_string()));
    let kind = OutcomeKind::of_name(&outcome.kind);
    Ok(CallRecord {
        section: call.section,
        scenario: call.scenario,
        spec: json(&call.spec)?,
        kind: kind.ok_or_else(|| wrong(format!("unknown kind {:?}", outcome.kind)))?,
        wall_ms: outcome.wall_ms,
        detail: json(&outcome.detail)?,
        id,
    })
}
