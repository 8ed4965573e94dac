//! What can go wrong between menace and its database.

use std::path::PathBuf;

use menace_model::ids::{CallId, RunId};
use sea_orm::DbErr;
use thiserror::Error;

/// Why something could not be stored or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The database cannot be opened.
    #[error("failed to open the database {address}: {source}\nhint: DATABASE_URL says where it is")]
    Open {
        /// Where it is, without secrets.
        address: String,
        /// Why.
        source: DbErr,
    },
    /// A kind of database that menace does not know.
    #[error(
        "the database {0} cannot be used\nhint: DATABASE_URL takes an address such as sqlite:///menace.db"
    )]
    Kind(String),
    /// The directory of the database cannot be made.
    #[error("failed to make the directory {path}: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file that keeps others away cannot be locked.
    #[error("failed to lock {path}: {source}")]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A question that the database did not answer.
    #[error("failed to {action}: {source}")]
    Query {
        /// What was asked for.
        action: &'static str,
        /// Why.
        source: DbErr,
    },
    /// What is stored is not what this version writes.
    #[error("what is stored of {what} cannot be read: {reason}")]
    Content {
        /// Of what.
        what: String,
        /// Why.
        reason: String,
    },
    /// A file that is no database any more and that cannot be put aside.
    #[error("failed to put the broken database {path} aside: {source}")]
    Aside {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no such run.
    #[error("there is no run {0}\nhint: menace show lists the runs in this data directory")]
    NoRun(RunId),
    /// There is no such call.
    #[error(
        "there is no call {0}\nhint: menace show RUN lists its calls; --data-dir says where runs are kept"
    )]
    NoCall(CallId),
    /// There is no such workflow.
    #[error("there is no workflow {0}\nhint: menace workflows list shows those that are stored")]
    NoWorkflow(String),
    /// There is no such memory.
    #[error("there is no memory {0}\nhint: menace memory list shows those that are kept")]
    NoMemory(u64),
    /// The name is taken.
    #[error("there is already a workflow {0}\nhint: menace workflows rm {0} removes it")]
    WorkflowExists(String),
}

impl StoreError {
    pub(crate) fn query(action: &'static str) -> impl FnOnce(DbErr) -> Self {
        move |source| Self::Query { action, source }
    }
}
