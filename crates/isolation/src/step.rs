//! The error of all steps into a sandbox: the name of the step and the error number of the kernel.

use std::fmt::Display;
use std::io;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A step that the kernel refused. It is sent from the child to the process that requested the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("failed to {step}: {}", io::Error::from_raw_os_error(*errno))]
pub struct StepError {
    /// Name of the step, as a verb with its object.
    pub step: String,
    /// Error number.
    pub errno: i32,
}

impl StepError {
    /// Error of the kernel.
    pub fn source(&self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

/// Adds the name of a step to an error.
pub trait StepContext<T> {
    /// Converts a kernel error into one that names the step. The name is created only when there is an error.
    fn step<S: Display>(self, name: impl FnOnce() -> S) -> Result<T, StepError>;
}

impl<T> StepContext<T> for io::Result<T> {
    fn step<S: Display>(self, name: impl FnOnce() -> S) -> Result<T, StepError> {
        self.map_err(|error| StepError {
            step: name().to_string(),
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        })
    }
}

impl<T> StepContext<T> for rustix::io::Result<T> {
    fn step<S: Display>(self, name: impl FnOnce() -> S) -> Result<T, StepError> {
        self.map_err(|error| StepError { step: name().to_string(), errno: error.raw_os_error() })
    }
}

/// Names the step of an error that has a kernel error in its chain of sources.
pub fn name_step<T, E: std::error::Error + 'static>(
    result: Result<T, E>,
    name: &str,
) -> Result<T, StepError> {
    result.map_err(|error| {
        let mut errno = None;
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(inner) = cause {
            let of_standard = inner.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
            let of_rustix = inner.downcast_ref::<rustix::io::Errno>().map(|errno| errno.raw_os_error());
            errno = errno.or(of_standard).or(of_rustix);
            cause = inner.source();
        }
        StepError { step: name.to_owned(), errno: errno.unwrap_or(libc::EIO) }
    })
}
