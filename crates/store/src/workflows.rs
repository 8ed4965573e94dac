//! Stored workflows: named lists of steps.

use sea_orm::ActiveValue::{NotSet, Set};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, SqlErr};
use serde::Serialize;

use crate::entities::workflow;
use crate::{Store, StoreError};

/// A stored workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowRecord {
    /// Number of the workflow.
    pub id: i64,
    /// Name of the workflow.
    pub name: String,
    /// Sections as `module:qualname`, in order.
    pub steps: Vec<String>,
    /// Creation time, in milliseconds since 1970.
    pub added_ms: i64,
}

impl Store {
    /// Stores a workflow and returns its number.
    pub async fn add_workflow(&self, name: &str, steps: &[String], now_ms: i64) -> Result<i64, StoreError> {
        let row = workflow::ActiveModel {
            id: NotSet,
            name: Set(name.to_owned()),
            steps: Set(serde_json::Value::from(steps.to_vec()).to_string()),
            added_ms: Set(now_ms),
        };
        match workflow::Entity::insert(row).exec(self.connection()).await {
            Ok(inserted) => Ok(inserted.last_insert_id),
            Err(error) if matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))) => {
                Err(StoreError::WorkflowExists(name.to_owned()))
            }
            Err(source) => Err(StoreError::Query { action: "store a workflow", source }),
        }
    }

    /// All workflows, in order of their numbers.
    pub async fn workflows(&self) -> Result<Vec<WorkflowRecord>, StoreError> {
        let rows = workflow::Entity::find().order_by_asc(workflow::Column::Id).all(self.connection());
        rows.await.map_err(StoreError::query("read workflows"))?.into_iter().map(of_row).collect()
    }

    /// Finds a workflow by its number or name.
    pub async fn workflow(&self, name: &str) -> Result<WorkflowRecord, StoreError> {
        let query = match name.parse::<i64>() {
            Ok(id) => workflow::Entity::find_by_id(id),
            Err(_) => workflow::Entity::find().filter(workflow::Column::Name.eq(name)),
        };
        let row = query.one(self.connection()).await.map_err(StoreError::query("read a workflow"))?;
        of_row(row.ok_or_else(|| StoreError::NoWorkflow(name.to_owned()))?)
    }

    /// Removes a workflow and returns it.
    pub async fn remove_workflow(&self, name: &str) -> Result<WorkflowRecord, StoreError> {
        let found = self.workflow(name).await?;
        let deleted = workflow::Entity::delete_by_id(found.id).exec(self.connection()).await;
        deleted.map_err(StoreError::query("remove a workflow"))?;
        Ok(found)
    }
}

fn of_row(row: workflow::Model) -> Result<WorkflowRecord, StoreError> {
    let steps = serde_json::from_str(&row.steps).map_err(|error| StoreError::Content {
        what: format!("workflow {}", row.name),
        reason: error.to_string(),
    })?;
    Ok(WorkflowRecord { id: row.id, name: row.name, steps, added_ms: row.added_ms })
}
