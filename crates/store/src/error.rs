//! Errors of the database.

use std::path::PathBuf;

use menace_model::ids::{CallId, RunId};
use sea_orm::DbErr;
use thiserror::Error;

/// Data could not be stored or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The database cannot be opened.
    #[error("failed to open the database {address}: {source}\nhint: DATABASE_URL sets its address")]
    Open {
        /// Address without secrets.
        address: String,
        /// Error of the database.
        source: DbErr,
    },
    /// The kind of database is not supported.
    #[error("unsupported database {0}\nhint: set DATABASE_URL to an address such as sqlite:///menace.db")]
    Kind(String),
    /// The directory of the database cannot be created.
    #[error("failed to create directory {path}: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The lock file cannot be locked.
    #[error("failed to lock {path}: {source}")]
    Lock {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A query failed.
    #[error("failed to {action}: {source}")]
    Query {
        /// Purpose of the query, as a verb with its object.
        action: &'static str,
        /// Error of the database.
        source: DbErr,
    },
    /// Stored data does not have the format of this version.
    #[error("invalid stored data of {what}: {reason}")]
    Content {
        /// Name of the stored object.
        what: String,
        /// Reason.
        reason: String,
    },
    /// A broken database file cannot be moved aside.
    #[error("failed to move the broken database {path} aside: {source}")]
    Aside {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// There is no such run.
    #[error("no run with id {0}\nhint: list the runs in this data directory with 'menace show'")]
    NoRun(RunId),
    /// There is no such call.
    #[error(
        "no call with id {0}\nhint: list the calls of a run with 'menace show RUN'; --data-dir sets where runs are stored"
    )]
    NoCall(CallId),
    /// There is no such workflow.
    #[error("no workflow {0}\nhint: list them with 'menace workflows list'")]
    NoWorkflow(String),
    /// There is no such memory.
    #[error("no memory with id {0}\nhint: list them with 'menace memory list'")]
    NoMemory(u64),
    /// A workflow with this name exists.
    #[error("workflow {0} already exists\nhint: remove it with 'menace workflows rm {0}'")]
    WorkflowExists(String),
}

impl StoreError {
    pub(crate) fn query(action: &'static str) -> impl FnOnce(DbErr) -> Self {
        move |source| Self::Query { action, source }
    }
}
