//! Failure of work inside a sandbox, as it is reported to the host.

use std::error::Error;
use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

/// Failed order or file work. The error number says what happened; the text is for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedFailure {
    /// Error message for the user.
    pub problem: String,
    /// Error number of the kernel, if it refused a system call.
    pub errno: Option<i32>,
}

impl ReportedFailure {
    /// A failure that is not an error of the kernel.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), errno: None }
    }

    /// The error with all its causes: the tar library wraps the I/O error in a message that repeats the path.
    pub fn with_causes(error: &io::Error) -> Self {
        let mut problem = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            problem = format!("{problem}: {inner}");
            cause = inner.source();
        }
        Self { problem, errno: errno(error) }
    }

    /// Puts a context before the message.
    #[must_use]
    pub fn context(self, context: impl fmt::Display) -> Self {
        Self { problem: format!("{context}: {}", self.problem), ..self }
    }

    /// The failure as an error with the kind of its error number; without one, the kind is `InvalidInput`.
    pub fn into_error(self) -> io::Error {
        let kind = match self.errno {
            // The standard library has no stable kinds for these: links that form a loop, special files without a peer.
            None | Some(libc::ELOOP | libc::ENXIO | libc::ENODEV) => io::ErrorKind::InvalidInput,
            Some(errno) => io::Error::from_raw_os_error(errno).kind(),
        };
        io::Error::new(kind, self.problem)
    }
}

impl From<io::Error> for ReportedFailure {
    fn from(error: io::Error) -> Self {
        let errno = errno(&error);
        match error.downcast::<Self>() {
            Ok(failure) => failure,
            Err(error) => Self { problem: error.to_string(), errno },
        }
    }
}

impl fmt::Display for ReportedFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem)
    }
}

impl Error for ReportedFailure {}

/// First error number in a chain of errors.
fn errno(error: &(dyn Error + 'static)) -> Option<i32> {
    let of_this = error.downcast_ref::<io::Error>().and_then(|error| {
        // The source of a wrapping `io::Error` is that of the wrapped error, so the wrapped one would be skipped.
        error.raw_os_error().or_else(|| errno(error.get_ref()?))
    });
    of_this.or_else(|| errno(error.source()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_number_survives_wrapping() {
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        for error in [full(), io::Error::other(full()), io::Error::other(io::Error::other(full()))] {
            let failure = ReportedFailure::from(error);
            assert_eq!(failure.errno, Some(libc::ENOSPC));
            assert_eq!(failure.into_error().kind(), io::ErrorKind::StorageFull);
        }
        let failure = ReportedFailure::new("an entry leaves the directory").context("a.tar");
        let again = ReportedFailure::from(io::Error::other(failure.clone()));
        assert_eq!((again.problem.as_str(), again.errno), ("a.tar: an entry leaves the directory", None));
        assert_eq!(failure.into_error().kind(), io::ErrorKind::InvalidInput);
    }
}
