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
    /// A limit, quota or budget is exhausted.
    LimitExceeded,
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

/// An error that knows its class and what the user can do about it.
pub trait ErrorDetails: std::error::Error {
    /// Kind of the error.
    fn class(&self) -> ErrorClass;

    /// What the user can do about it: one line without a trailing period.
    fn hint(&self) -> Option<String> {
        None
    }
}
