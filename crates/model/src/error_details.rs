//! Answers that every public error of menace gives besides its text.

/// Kind of an error. Exit codes and HTTP statuses are each one `match` on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The arguments, settings or files that the user gave are wrong.
    Usage,
    /// The named thing does not exist.
    NotFound,
    /// The request contradicts the present state: it exists already, still runs, or is finished.
    Conflict,
    /// The named thing existed and is gone.
    Gone,
    /// The user or the process may not do this.
    PermissionDenied,
    /// A limit, quota or budget is exhausted.
    LimitExceeded,
    /// A disk is full.
    StorageFull,
    /// Nothing accepts connections at the address.
    Unreachable,
    /// The host, the backend or a tool lacks a capability.
    Unsupported,
    /// A file, device, network or process of the environment failed.
    Environment,
    /// The program to start does not exist.
    ProgramNotFound,
    /// The program to start cannot be executed.
    ProgramNotExecutable,
    /// The user interrupted the work; its state is saved.
    Interrupted,
    /// A bug in menace.
    Bug,
}

/// An error that knows its class and an advice for the user.
pub trait ErrorDetails: std::error::Error {
    /// Kind of the error.
    fn class(&self) -> ErrorClass;

    /// Advice for the user: one line without a trailing period.
    fn hint(&self) -> Option<String> {
        None
    }
}

impl ErrorDetails for std::io::Error {
    /// The environment failed, whatever the kind: only the operation that failed knows whether a missing file is a
    /// mistake of the user.
    fn class(&self) -> ErrorClass {
        ErrorClass::Environment
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::FaultRule;
    use crate::ids::{CallId, RunId};
    use crate::network::NetworkDestination;
    use crate::presets::PresetError;

    #[test]
    fn texts_and_hints_are_one_line_each() {
        let errors: Vec<Box<dyn ErrorDetails>> = vec![
            Box::new("x".parse::<RunId>().unwrap_err()),
            Box::new("x".parse::<CallId>().unwrap_err()),
            Box::new("a b".parse::<NetworkDestination>().unwrap_err()),
            Box::new("write".parse::<FaultRule>().unwrap_err()),
            Box::new(PresetError::unknown_profile("hihg_latency_api")),
        ];
        for error in errors {
            let text = error.to_string();
            assert_eq!(error.class(), ErrorClass::Usage, "{text}");
            assert!(!text.contains('\n') && !text.contains("hint:"), "{text}");
            assert!(error.hint().is_none_or(|hint| !hint.contains('\n')), "{text}");
        }
    }
}
