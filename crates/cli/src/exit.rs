//! Exit codes, documented in `menace --help`.

use std::process::ExitCode;

use menace_analysis::scan::ScanError;
use menace_model::settings::SettingsError;

use crate::commands::UsageError;
use crate::configuration::ConfigurationError;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Found what it looks for: failures, missing capabilities.
    Found = 1,
    /// Wrong usage.
    Usage = 2,
    /// The environment cannot do it.
    Environment = 3,
    /// Our bug.
    Bug = 70,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The code for an error, by the kind of error at its root.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    let is_usage = error.chain().any(|cause| {
        cause.is::<UsageError>()
            || cause.is::<SettingsError>()
            || cause.is::<ConfigurationError>()
            || matches!(
                cause.downcast_ref(),
                Some(ScanError::NotADirectory { .. } | ScanError::Pattern { .. })
            )
            || matches!(cause.downcast_ref(), Some(ScanError::Root { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound)
    });
    let is_environment = error.chain().any(|cause| cause.is::<std::io::Error>() || cause.is::<ScanError>());
    match (is_usage, is_environment) {
        (true, _) => Exit::Usage,
        (false, true) => Exit::Environment,
        (false, false) => Exit::Bug,
    }
}
