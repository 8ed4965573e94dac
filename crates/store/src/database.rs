//! Opening the database: its directory, its tables, and the recovery of a broken file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbErr, RuntimeErr, SqlxError, Statement,
};

use crate::StoreError;
use crate::migrations::migrate;

/// Handle of the database.
#[derive(Debug, Clone)]
pub struct Store {
    connection: DatabaseConnection,
}

/// Maximum time that a process waits for another one that writes.
pub(crate) const BUSY: Duration = Duration::from_secs(30);
/// Tables in the order in which they are recovered from a broken file.
const TABLES: [&str; 8] =
    ["workflows", "runs", "patches", "events", "calls", "outcomes", "metrics", "memories"];
/// The file is damaged: result code of SQLite.
const SQLITE_CORRUPT: i32 = 11;
/// The file is not a database: result code of SQLite.
const SQLITE_NOTADB: i32 = 26;
/// Number of rows in one read from a broken file: one bad page costs at most this many.
const SALVAGED: i64 = 200;

impl Store {
    /// Opens a database, creating it if it does not exist. A relative path in a SQLite address is relative to
    /// `directory`.
    pub async fn open(address: &str, directory: &Path) -> Result<Self, StoreError> {
        let Some(path) = sqlite_path(address, directory) else {
            return Err(StoreError::Kind(redacted_address(address)));
        };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|source| StoreError::Directory { path: parent.to_owned(), source })?;
        }
        // Two processes that create the tables concurrently would conflict.
        let lock = lock(&path)?;
        // Only a process that did not exit cleanly leaves a write-ahead log behind.
        let ended_badly = log_of(&path).is_file();
        let opened = match open_checked(&path, ended_badly).await {
            Ok(connection) => Ok(Self { connection }),
            Err(OpenFailure::Broken) => rebuild(&path).await,
            Err(OpenFailure::Failed(source)) => {
                Err(StoreError::Open { address: path.display().to_string(), source })
            }
        };
        drop(lock);
        opened
    }

    /// Whether the database exists, for readers that must not create one.
    pub fn exists(address: &str, directory: &Path) -> bool {
        sqlite_path(address, directory).is_some_and(|path| path.is_file())
    }

    pub(crate) fn connection(&self) -> &DatabaseConnection {
        &self.connection
    }

    /// Flushes all writes and closes the file.
    pub async fn close(self) -> Result<(), StoreError> {
        self.connection.close().await.map_err(StoreError::query("close the database"))
    }
}

/// `sqlite:///name` and `sqlite://name` are files in the directory, `sqlite:////path` is an absolute path.
fn sqlite_path(address: &str, directory: &Path) -> Option<PathBuf> {
    let rest = address.strip_prefix("sqlite:")?;
    let name = rest.strip_prefix("///").or_else(|| rest.strip_prefix("//")).unwrap_or(rest);
    (!name.is_empty()).then(|| directory.join(name))
}

fn redacted_address(address: &str) -> String {
    address.split_once("://").map_or_else(|| address.to_owned(), |(scheme, _)| format!("{scheme}://…"))
}

/// Waits until no other process opens the database. Dropping the file releases the lock.
pub(crate) fn lock(path: &Path) -> Result<std::fs::File, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let opened = std::fs::File::options().create(true).truncate(false).write(true).open(&name);
    let locked = opened.and_then(|file| file.lock().map(|()| file));
    locked.map_err(|source| StoreError::Lock { path: name.into(), source })
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Reason why a database cannot be opened.
enum OpenFailure {
    /// The file is not a valid database.
    Broken,
    /// Any other error.
    Failed(DbErr),
}

impl From<DbErr> for OpenFailure {
    fn from(error: DbErr) -> Self {
        if is_broken(&error) { Self::Broken } else { Self::Failed(error) }
    }
}

async fn open_checked(path: &Path, check: bool) -> Result<DatabaseConnection, OpenFailure> {
    let mut options = ConnectOptions::new("sqlite::memory:");
    options.max_connections(4).sqlx_logging(false);
    let file = path.to_owned();
    options.map_sqlx_sqlite_opts(move |options| {
        options
            .in_memory(false)
            .shared_cache(false)
            .filename(&file)
            .create_if_missing(true)
            .busy_timeout(BUSY)
            .pragma("journal_mode", "WAL")
            // A crash of the machine may lose the last moments; a crash of menace loses nothing.
            .pragma("synchronous", "NORMAL")
    });
    let connection = Database::connect(options).await?;
    if check {
        let sound = Statement::from_string(connection.get_database_backend(), "PRAGMA quick_check(1)");
        let row = connection.query_one_raw(sound).await?;
        let said: String = row.map(|row| row.try_get_by_index(0)).transpose()?.unwrap_or_default();
        if said != "ok" {
            tracing::debug!("the integrity check of {} failed: {said}", path.display());
            return Err(OpenFailure::Broken);
        }
    }
    migrate(&connection).await?;
    Ok(connection)
}

/// Whether SQLite reports that the file is not a valid database.
fn is_broken(error: &DbErr) -> bool {
    let (DbErr::Conn(cause) | DbErr::Exec(cause) | DbErr::Query(cause)) = error else { return false };
    let RuntimeErr::SqlxError(cause) = cause else { return false };
    let SqlxError::Database(cause) = &**cause else { return false };
    let code = cause.code().and_then(|code| code.parse::<i32>().ok());
    // The low byte of an extended code is the primary one.
    code.is_some_and(|code| [SQLITE_CORRUPT, SQLITE_NOTADB].contains(&(code & 0xff)))
}

/// Moves a broken file aside and copies its readable rows to a new one.
async fn rebuild(path: &Path) -> Result<Store, StoreError> {
    let aside = free_name(path);
    std::fs::rename(path, &aside).map_err(|source| StoreError::Aside { path: path.to_owned(), source })?;
    let _ = std::fs::rename(log_of(path), log_of(&aside));
    let connection = open_checked(path, false).await.map_err(|failure| StoreError::Open {
        address: path.display().to_string(),
        source: match failure {
            OpenFailure::Failed(source) => source,
            OpenFailure::Broken => DbErr::Custom("the new file is broken too".into()),
        },
    })?;
    let saved = salvage(&connection, &aside).await;
    tracing::warn!(
        "database {} was broken; moved it to {} and recovered {saved} rows",
        path.display(),
        aside.display()
    );
    Ok(Store { connection })
}

fn free_name(path: &Path) -> PathBuf {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".broken-{number}"));
        PathBuf::from(name)
    };
    (1..u32::MAX).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(0))
}

/// Copies the readable rows, a few at a time, and skips the others.
async fn salvage(connection: &DatabaseConnection, broken: &Path) -> u64 {
    let Ok(broken) = open_broken(broken).await else { return 0 };
    let mut saved = 0;
    for table in TABLES {
        saved += salvage_table(connection, &broken, table).await;
    }
    saved
}

async fn open_broken(path: &Path) -> Result<DatabaseConnection, DbErr> {
    let mut options = ConnectOptions::new("sqlite::memory:");
    options.max_connections(1).sqlx_logging(false);
    let file = path.to_owned();
    options.map_sqlx_sqlite_opts(move |options| {
        options.in_memory(false).shared_cache(false).filename(&file).create_if_missing(false)
    });
    Database::connect(options).await
}

async fn salvage_table(to: &DatabaseConnection, from: &DatabaseConnection, table: &str) -> u64 {
    use crate::entities::{call, event, memory, metric, outcome, patch, run, workflow};
    match table {
        "runs" => salvage_rows::<run::Entity, run::ActiveModel>(to, from, table).await,
        "calls" => salvage_rows::<call::Entity, call::ActiveModel>(to, from, table).await,
        "events" => salvage_rows::<event::Entity, event::ActiveModel>(to, from, table).await,
        "patches" => salvage_rows::<patch::Entity, patch::ActiveModel>(to, from, table).await,
        "memories" => salvage_rows::<memory::Entity, memory::ActiveModel>(to, from, table).await,
        "metrics" => salvage_rows::<metric::Entity, metric::ActiveModel>(to, from, table).await,
        "outcomes" => salvage_rows::<outcome::Entity, outcome::ActiveModel>(to, from, table).await,
        _ => salvage_rows::<workflow::Entity, workflow::ActiveModel>(to, from, table).await,
    }
}

async fn salvage_rows<E, A>(to: &DatabaseConnection, from: &DatabaseConnection, table: &str) -> u64
where
    E: sea_orm::EntityTrait,
    E::Model: sea_orm::IntoActiveModel<A>,
    A: sea_orm::ActiveModelTrait<Entity = E>,
{
    use sea_orm::IntoActiveModel;
    let question = |text: String| Statement::from_string(from.get_database_backend(), text);
    let last = from.query_one_raw(question(format!("SELECT max(rowid) FROM {table}"))).await;
    let last: i64 = last.ok().flatten().and_then(|row| row.try_get_by_index(0).ok()).unwrap_or(0);
    let mut saved = 0;
    for first in (0..=last).step_by(usize::try_from(SALVAGED).unwrap_or(1)) {
        let page = format!("SELECT * FROM {table} WHERE rowid BETWEEN {first} AND {}", first + SALVAGED - 1);
        let Ok(rows) = E::find().from_raw_sql(question(page)).all(from).await else { continue };
        let count = rows.len() as u64;
        let rows = rows.into_iter().map(IntoActiveModel::into_active_model);
        if count > 0 && E::insert_many(rows).exec_without_returning(to).await.is_ok() {
            saved += count;
        }
    }
    saved
}
