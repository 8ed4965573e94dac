//! Events of runs, in order.

use menace_model::ids::RunId;
use sea_orm::ActiveValue::{NotSet, Set};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use serde::Serialize;
use serde_json::Value;

use crate::entities::event;
use crate::{Store, StoreError};

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventRecord {
    /// Number of the event, over all runs.
    pub id: u64,
    /// Id of the run.
    pub run: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Kind of event, such as `patch:kept`.
    pub kind: String,
    /// Details of the event.
    pub detail: Value,
}

impl Store {
    /// Stores an event and returns its number.
    pub async fn add_event(
        &self,
        run: &RunId,
        at_ms: i64,
        kind: &str,
        detail: &Value,
    ) -> Result<u64, StoreError> {
        let row = event::ActiveModel {
            id: NotSet,
            run: Set(run.to_string()),
            at_ms: Set(at_ms),
            kind: Set(kind.to_owned()),
            detail: Set(detail.to_string()),
        };
        let added = event::Entity::insert(row).exec(self.connection()).await;
        Ok(added.map_err(StoreError::query("store an event"))?.last_insert_id.cast_unsigned())
    }

    /// Time of the last event of a run.
    pub async fn last_event_ms(&self, run: &RunId) -> Result<Option<i64>, StoreError> {
        let row = event::Entity::find()
            .filter(event::Column::Run.eq(run.to_string()))
            .order_by_desc(event::Column::Id)
            .one(self.connection())
            .await
            .map_err(StoreError::query("read the last event"))?;
        Ok(row.map(|row| row.at_ms))
    }

    /// Up to `most` events of a run after the event with this number.
    pub async fn events(&self, run: &RunId, after: u64, most: u64) -> Result<Vec<EventRecord>, StoreError> {
        let of_run = event::Entity::find().filter(event::Column::Run.eq(run.to_string()));
        self.next_of(of_run, after, most).await
    }

    /// Up to `most` events of any run after the event with this number.
    pub async fn events_after(&self, after: u64, most: u64) -> Result<Vec<EventRecord>, StoreError> {
        self.next_of(event::Entity::find(), after, most).await
    }

    async fn next_of(
        &self,
        query: Select<event::Entity>,
        after: u64,
        most: u64,
    ) -> Result<Vec<EventRecord>, StoreError> {
        let rows = query
            .filter(event::Column::Id.gt(after.cast_signed()))
            .order_by_asc(event::Column::Id)
            .limit(most)
            .all(self.connection())
            .await
            .map_err(StoreError::query("read events"))?;
        rows.into_iter().map(record).collect()
    }

    /// The last events of one run or of all runs, the oldest first.
    pub async fn last_events(&self, run: Option<&RunId>, most: u64) -> Result<Vec<EventRecord>, StoreError> {
        let mut query = event::Entity::find().order_by_desc(event::Column::Id).limit(most);
        if let Some(run) = run {
            query = query.filter(event::Column::Run.eq(run.to_string()));
        }
        let rows = query.all(self.connection()).await.map_err(StoreError::query("read the last events"))?;
        rows.into_iter().rev().map(record).collect()
    }
}

fn record(row: event::Model) -> Result<EventRecord, StoreError> {
    let detail = serde_json::from_str(&row.detail).map_err(|error| StoreError::Content {
        what: format!("event {}", row.id),
        reason: error.to_string(),
    })?;
    let id = row.id.cast_unsigned();
    Ok(EventRecord { id, run: row.run, at_ms: row.at_ms, kind: row.kind, detail })
}
