//! Errors of the database.

use std::path::PathBuf;

use menace_model::ids::{CallId, RunId};
use menace_model::{ErrorClass, ErrorDetails};
use sea_orm::DbErr;
use thiserror::Error;

/// Data could not be stored or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The database cannot be opened.
    #[error("failed to open the database {address}: {source}")]
    Open {
        /// Address without secrets.
        address: String,
        /// Error of the database.
        source: DbErr,
    },
    /// The kind of database is not supported.
    #[error("unsupported database {0}")]
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
    #[error("no run with id {0}")]
    NoRun(RunId),
    /// There is no such call.
    #[error("no call with id {0}")]
    NoCall(CallId),
    /// There is no such workflow.
    #[error("no workflow {0}")]
    NoWorkflow(String),
    /// There is no such memory.
    #[error("no memory with id {0}")]
    NoMemory(u64),
    /// A workflow with this name exists.
    #[error("workflow {0} already exists")]
    WorkflowExists(String),
}

impl ErrorDetails for StoreError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Kind(_) => ErrorClass::Usage,
            Self::NoRun(_) | Self::NoCall(_) | Self::NoWorkflow(_) | Self::NoMemory(_) => {
                ErrorClass::NotFound
            }
            Self::WorkflowExists(_) => ErrorClass::Conflict,
            Self::Open { .. }
            | Self::Directory { .. }
            | Self::Lock { .. }
            | Self::Query { .. }
            | Self::Content { .. }
            | Self::Aside { .. } => ErrorClass::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Open { .. } => "DATABASE_URL sets its address".into(),
            Self::Kind(_) => "set DATABASE_URL to an address such as sqlite:///menace.db".into(),
            Self::NoRun(_) => "list the runs in this data directory with 'menace show'".into(),
            Self::NoCall(_) => {
                "list the calls of a run with 'menace show RUN'; --data-dir sets where runs are stored".into()
            }
            Self::NoWorkflow(_) => "list them with 'menace workflows list'".into(),
            Self::NoMemory(_) => "list them with 'menace memory list'".into(),
            Self::WorkflowExists(name) => format!("remove it with 'menace workflows rm {name}'"),
            Self::Directory { .. }
            | Self::Lock { .. }
            | Self::Query { .. }
            | Self::Content { .. }
            | Self::Aside { .. } => return None,
        })
    }
}

impl StoreError {
    pub(crate) fn query(action: &'static str) -> impl FnOnce(DbErr) -> Self {
        move |source| Self::Query { action, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_class_and_a_text_of_one_line() {
        let failed = || DbErr::Custom("disk on fire".into());
        let io = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let run = RunId::new(1, 1);
        let path = || PathBuf::from("/x");
        let cases = [
            (StoreError::Open { address: "x".into(), source: failed() }, ErrorClass::Environment),
            (StoreError::Kind("mysql://…".into()), ErrorClass::Usage),
            (StoreError::Directory { path: path(), source: io() }, ErrorClass::Environment),
            (StoreError::Lock { path: path(), source: io() }, ErrorClass::Environment),
            (StoreError::Query { action: "read runs", source: failed() }, ErrorClass::Environment),
            (StoreError::Content { what: "x".into(), reason: "y".into() }, ErrorClass::Environment),
            (StoreError::Aside { path: path(), source: io() }, ErrorClass::Environment),
            (StoreError::NoCall(run.call(1)), ErrorClass::NotFound),
            (StoreError::NoRun(run), ErrorClass::NotFound),
            (StoreError::NoWorkflow("checkout".into()), ErrorClass::NotFound),
            (StoreError::NoMemory(1), ErrorClass::NotFound),
            (StoreError::WorkflowExists("checkout".into()), ErrorClass::Conflict),
        ];
        for (error, class) in cases {
            let text = error.to_string();
            assert_eq!(error.class(), class, "{text}");
            assert!(!text.contains('\n') && !text.contains("hint:"), "{text}");
            assert!(error.hint().is_none_or(|hint| !hint.contains('\n')), "{text}");
        }
    }
}
