//! Failures of fake programs: a line on stderr and exit code 1.

use std::future::Future;
use std::io;

use crate::fake::error_number::reason;
use crate::fake::invocation::{Exit, Invocation};

/// Error message of a program that exits with 1.
pub(super) struct Complaint(pub(super) String);

pub(super) type Finished = Result<(), Complaint>;

impl From<io::Error> for Complaint {
    fn from(error: io::Error) -> Self {
        Self(format!("write error: {}", reason(&error)))
    }
}

/// Wraps an error about one path, for `map_err`.
pub(super) fn about(path: &str) -> impl Fn(io::Error) -> Complaint {
    move |error| Complaint(format!("{path}: {}", reason(&error)))
}

/// Error for arguments that the fake program does not support, though the real one may.
pub(super) fn unknown(arguments: &[String]) -> Complaint {
    Complaint(format!("unsupported by the fake backend: {}", arguments.join(" ")))
}

/// Runs a program and prints its error message.
pub(super) async fn finish(invocation: Invocation, program: impl Future<Output = Finished> + Send) -> Exit {
    match program.await {
        Ok(()) => Exit::Code(0),
        Err(Complaint(text)) => {
            invocation.complain(format!("{}: {text}\n", invocation.command[0])).await;
            Exit::Code(1)
        }
    }
}
