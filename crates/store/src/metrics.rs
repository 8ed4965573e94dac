//! Metrics of cycles, one row for each value: the content of `metrics.db`.

use sea_orm::ActiveValue::{NotSet, Set};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, TransactionTrait};

use crate::entities::metric;
use crate::{Store, StoreError};

/// A measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRecord {
    /// Id of the run.
    pub run: String,
    /// Number of the cycle.
    pub cycle: u64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Module; empty for the repository.
    pub module: String,
    /// Scenario; empty for all.
    pub scenario: String,
    /// Name of the metric, or `roi`, `raroi`.
    pub name: String,
    /// Its value.
    pub value: f64,
}

/// Number of rows in one statement: SQLite accepts 32,766 values.
const ROWS_PER_STATEMENT: usize = 2_000;

impl Store {
    /// Stores the metrics of a cycle, all or none.
    pub async fn add_metrics(&self, records: &[MetricRecord]) -> Result<(), StoreError> {
        let failed = || StoreError::query("store metrics");
        let transaction = self.connection().begin().await.map_err(failed())?;
        for chunk in records.chunks(ROWS_PER_STATEMENT) {
            let rows = chunk.iter().map(|record| metric::ActiveModel {
                id: NotSet,
                run: Set(record.run.clone()),
                cycle: Set(record.cycle.cast_signed()),
                at_ms: Set(record.at_ms),
                module: Set(record.module.clone()),
                scenario: Set(record.scenario.clone()),
                name: Set(record.name.clone()),
                value: Set(record.value),
            });
            metric::Entity::insert_many(rows).exec_without_returning(&transaction).await.map_err(failed())?;
        }
        transaction.commit().await.map_err(failed())
    }

    /// All values of a metric of a module (or, with an empty module, of the repository), in order.
    pub async fn metrics(&self, name: &str, module: &str) -> Result<Vec<MetricRecord>, StoreError> {
        let rows = metric::Entity::find()
            .filter(metric::Column::Name.eq(name))
            .filter(metric::Column::Module.eq(module))
            .order_by_asc(metric::Column::Id)
            .all(self.connection());
        let rows = rows.await.map_err(StoreError::query("read metrics"))?;
        Ok(rows.into_iter().map(record).collect())
    }

    /// All values of a metric, of every module and the repository, in order.
    pub async fn metric_of_all_modules(&self, name: &str) -> Result<Vec<MetricRecord>, StoreError> {
        let rows = metric::Entity::find()
            .filter(metric::Column::Name.eq(name))
            .order_by_asc(metric::Column::Id)
            .all(self.connection());
        let rows = rows.await.map_err(StoreError::query("read metrics"))?;
        Ok(rows.into_iter().map(record).collect())
    }

    /// Names of all stored metrics, sorted.
    pub async fn metric_names(&self) -> Result<Vec<String>, StoreError> {
        let names = metric::Entity::find()
            .select_only()
            .column(metric::Column::Name)
            .distinct()
            .order_by_asc(metric::Column::Name)
            .into_tuple()
            .all(self.connection());
        names.await.map_err(StoreError::query("read the names of metrics"))
    }
}

fn record(row: metric::Model) -> MetricRecord {
    MetricRecord {
        run: row.run,
        cycle: row.cycle.cast_unsigned(),
        at_ms: row.at_ms,
        module: row.module,
        scenario: row.scenario,
        name: row.name,
        value: row.value,
    }
}
