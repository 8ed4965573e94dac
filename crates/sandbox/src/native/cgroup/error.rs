//! Errors of control groups, with the path or the controller concerned.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::{ErrorClass, ErrorDetails};
use thiserror::Error;

use crate::SandboxError;

/// Failure to find, create, read, freeze, kill or remove a control group.
#[derive(Debug, Error)]
pub(crate) enum CgroupError {
    /// A requested limit that no mechanism on this host can enforce.
    #[error("cannot enforce a limit on {limit}: {reason}")]
    LimitUnavailable { limit: &'static str, reason: String },
    /// A requested limit that no kernel accepts.
    #[error("invalid limit: {value} {limit}")]
    LimitInvalid { limit: &'static str, value: String, hint: &'static str },
    /// A controller that was requested for accounting only.
    #[error("the {controller} controller is not available: {reason}")]
    ControllerUnavailable { controller: &'static str, reason: String },
    /// No hierarchy in which a group can be created.
    #[error("cannot create control groups: {reason}")]
    NoHierarchy { reason: String },
    /// A name that is not one directory, or would not be recognised as ours later.
    #[error("invalid control group name {name:?}")]
    Name { name: String },
    #[error("failed to create {path}: {source}", path = path.display())]
    Create {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to read {path}: {source}", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to write {value:?} to {path}: {source}", path = path.display())]
    Write {
        path: PathBuf,
        value: String,
        #[source]
        source: io::Error,
    },
    #[error("failed to remove {path}: {source}", path = path.display())]
    Remove {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A kernel file whose content does not match its documentation.
    #[error("unexpected content {text:?} in {path}", path = path.display())]
    Parse { path: PathBuf, text: String },
    #[error("failed to signal process {pid} of {path}: {source}", path = path.display())]
    Signal {
        pid: i32,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The kernel did not freeze, or did not thaw, every process in time.
    #[error("{path} is {state} after {waited:?}", path = path.display())]
    Freeze { path: PathBuf, state: String, waited: Duration },
    /// Processes that did not end after SIGKILL, for instance because they wait for a device.
    #[error("{count} processes of {path} still alive {waited:?} after SIGKILL", path = path.display())]
    Survivors { path: PathBuf, count: usize, waited: Duration },
}

impl ErrorDetails for CgroupError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::LimitUnavailable { .. }
            | Self::LimitInvalid { .. }
            | Self::ControllerUnavailable { .. }
            | Self::NoHierarchy { .. }
            | Self::Name { .. } => ErrorClass::Conflict,
            Self::Create { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Remove { .. }
            | Self::Parse { .. }
            | Self::Signal { .. }
            | Self::Freeze { .. }
            | Self::Survivors { .. } => ErrorClass::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::LimitUnavailable { .. } | Self::ControllerUnavailable { .. } | Self::NoHierarchy { .. } => {
                "run as root, or in a group that is delegated to you: systemd-run --user --scope -p Delegate=yes …"
                    .into()
            }
            Self::LimitInvalid { hint, .. } => (*hint).into(),
            Self::Name { .. } => "use letters, digits, '-', '_' and '.'".into(),
            Self::Create { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Remove { .. }
            | Self::Parse { .. }
            | Self::Signal { .. }
            | Self::Freeze { .. }
            | Self::Survivors { .. } => return None,
        })
    }
}

impl CgroupError {
    /// Error for a failed read, for `map_err`.
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    /// Error for a failed write, for `map_err`.
    pub(super) fn write(path: &Path, value: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), value: value.to_owned(), source }
    }
}

impl From<CgroupError> for SandboxError {
    fn from(error: CgroupError) -> Self {
        let action = match &error {
            CgroupError::LimitUnavailable { .. }
            | CgroupError::LimitInvalid { .. }
            | CgroupError::ControllerUnavailable { .. }
            | CgroupError::NoHierarchy { .. }
            | CgroupError::Name { .. } => return refused(&error),
            CgroupError::Create { .. } => "create a control group",
            CgroupError::Read { .. } | CgroupError::Parse { .. } => "read a control group",
            CgroupError::Write { .. } => "write to a control group",
            CgroupError::Remove { .. } => "remove a control group",
            CgroupError::Freeze { .. } => "pause or resume a control group",
            CgroupError::Signal { .. } | CgroupError::Survivors { .. } => "kill a control group",
        };
        Self::Io { action, source: io::Error::other(error) }
    }
}

fn refused(error: &CgroupError) -> SandboxError {
    SandboxError::Refused { problem: error.to_string(), hint: error.hint().unwrap_or_default() }
}
