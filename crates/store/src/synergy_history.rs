//! `synergy_history.db`: synergy of workflows, one row for each measurement. It is a separate file because other
//! programs read it: the exporter, the trainer of weights, the dashboard, and scripts of the first editions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, Statement, Value};

use crate::StoreError;
use crate::database::{BUSY, lock};

/// The synergy history in a file.
#[derive(Debug, Clone)]
pub struct SynergyHistory {
    path: PathBuf,
    connection: DatabaseConnection,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct SynergyRecord {
    /// Number of the record, from 1.
    pub id: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// `synergy_roi`, `synergy_reliability`, …
    pub values: BTreeMap<String, f64>,
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS synergy_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, entry TEXT NOT NULL)";

impl SynergyHistory {
    /// Opens a history, creating it if it does not exist. Imports the JSON file in which the first editions stored
    /// it.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|source| StoreError::Directory { path: parent.to_owned(), source })?;
        }
        // The lock makes sure that only one process creates the table.
        let _lock = lock(path)?;
        let is_new = !path.is_file();
        let history = Self::connected(path, true).await?;
        history.run(TABLE, []).await?;
        if is_new {
            // The first editions did not store the time, only the order.
            for (at_ms, values) in (0..).zip(&read_legacy_json(path)?) {
                history.insert(at_ms, values).await?;
            }
        }
        Ok(history)
    }

    /// Opens a history read-only; `None` if it does not exist.
    pub async fn open_existing(path: &Path) -> Result<Option<Self>, StoreError> {
        if path.is_file() { Self::connected(path, false).await.map(Some) } else { Ok(None) }
    }

    async fn connected(path: &Path, writes: bool) -> Result<Self, StoreError> {
        let mut options = ConnectOptions::new("sqlite::memory:");
        options.max_connections(1).sqlx_logging(false);
        let file = path.to_owned();
        options.map_sqlx_sqlite_opts(move |options| {
            let options = options.in_memory(false).shared_cache(false).filename(&file).busy_timeout(BUSY);
            if writes {
                options.create_if_missing(true).pragma("journal_mode", "WAL")
            } else {
                options.read_only(true)
            }
        });
        let opened = Database::connect(options).await;
        let failed = |source| StoreError::Open { address: path.display().to_string(), source };
        Ok(Self { path: path.to_owned(), connection: opened.map_err(failed)? })
    }

    /// Stores a measurement, holding the lock beside the file.
    pub async fn add(&self, at_ms: i64, values: &BTreeMap<String, f64>) -> Result<(), StoreError> {
        let _lock = lock(&self.path)?;
        self.insert(at_ms, values).await
    }

    async fn insert(&self, at_ms: i64, values: &BTreeMap<String, f64>) -> Result<(), StoreError> {
        let entry = serde_json::to_string(values)
            .map_err(|error| StoreError::Content { what: "synergy".into(), reason: error.to_string() })?;
        self.run("INSERT INTO synergy_history (at_ms, entry) VALUES (?, ?)", [at_ms.into(), entry.into()])
            .await
    }

    /// Measurements after a record, in order; after 0 all of them.
    pub async fn after(&self, id: i64) -> Result<Vec<SynergyRecord>, StoreError> {
        let query = "SELECT id, at_ms, entry FROM synergy_history WHERE id > ? ORDER BY id";
        let statement = self.statement(query, [id.into()]);
        let failed = StoreError::query("read the synergy history");
        let rows = self.connection.query_all_raw(statement).await.map_err(failed)?;
        rows.iter().map(|row| self.record(row)).collect()
    }

    fn record(&self, row: &sea_orm::QueryResult) -> Result<SynergyRecord, StoreError> {
        let failed = || StoreError::query("read the synergy history");
        let id: i64 = row.try_get("", "id").map_err(failed())?;
        let entry: String = row.try_get("", "entry").map_err(failed())?;
        let values = serde_json::from_str(&entry).map_err(|error| StoreError::Content {
            what: format!("row {id} of {}", self.path.display()),
            reason: error.to_string(),
        })?;
        Ok(SynergyRecord { id, at_ms: row.try_get("", "at_ms").map_err(failed())?, values })
    }

    async fn run(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<(), StoreError> {
        let statement = self.statement(sql, values);
        let done = self.connection.execute_raw(statement).await;
        done.map(drop).map_err(StoreError::query("write the synergy history"))
    }

    fn statement(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Statement {
        Statement::from_sql_and_values(self.connection.get_database_backend(), sql, values)
    }
}

/// Reads `synergy_history.json`, a list of objects.
fn read_legacy_json(path: &Path) -> Result<Vec<BTreeMap<String, f64>>, StoreError> {
    let old = path.with_extension("json");
    let text = match std::fs::read(&old) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|error| error.to_string()),
    };
    let read = text.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    read.map_err(|reason| StoreError::Content { what: old.display().to_string(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(roi: f64) -> BTreeMap<String, f64> {
        BTreeMap::from([("synergy_roi".to_owned(), roi)])
    }

    #[tokio::test]
    async fn measurements_are_read_in_order_by_other_connections() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("synergy_history.db");
        assert!(SynergyHistory::open_existing(&path).await.unwrap().is_none());
        assert!(!path.exists(), "reading creates no file");
        let history = SynergyHistory::open(&path).await.unwrap();
        history.add(1, &values(0.5)).await.unwrap();
        history.add(2, &values(-0.25)).await.unwrap();
        let other = SynergyHistory::open_existing(&path).await.unwrap().unwrap();
        let read = other.after(0).await.unwrap();
        assert_eq!(read.iter().map(|one| (one.id, one.at_ms)).collect::<Vec<_>>(), [(1, 1), (2, 2)]);
        assert_eq!(other.after(1).await.unwrap(), [SynergyRecord { id: 2, at_ms: 2, values: values(-0.25) }]);
        assert!(other.add(3, &values(1.0)).await.is_err(), "a read-only connection cannot write");
        assert!(path.with_extension("db.lock").exists());
    }

    #[tokio::test]
    async fn the_json_of_the_first_editions_is_imported_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("synergy_history.db");
        std::fs::write(path.with_extension("json"), r#"[{"synergy_roi": 0.1}, {"synergy_roi": 0.2}]"#)
            .unwrap();
        SynergyHistory::open(&path).await.unwrap();
        let again = SynergyHistory::open(&path).await.unwrap();
        let read: Vec<f64> =
            again.after(0).await.unwrap().iter().map(|one| one.values["synergy_roi"]).collect();
        assert_eq!(read, [0.1, 0.2]);
        let other = directory.path().join("other.db");
        std::fs::write(other.with_extension("json"), "{}").unwrap();
        assert!(SynergyHistory::open(&other).await.is_err());
    }
}
