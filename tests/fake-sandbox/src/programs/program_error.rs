//! Failures of fake programs: a line on stderr and exit code 1.

use std::future::Future;
use std::io;

use crate::error_number::reason;
use crate::invocation::{FakeExit, FakeInvocation};

/// Error message of a program that exits with 1.
pub(super) struct FakeProgramError(pub(super) String);

pub(super) type FakeProgramResult = Result<(), FakeProgramError>;

impl From<io::Error> for FakeProgramError {
    fn from(error: io::Error) -> Self {
        Self(format!("write error: {}", reason(&error)))
    }
}

/// Wraps an error about one path, for `map_err`.
pub(super) fn about(path: &str) -> impl Fn(io::Error) -> FakeProgramError {
    move |error| FakeProgramError(format!("{path}: {}", reason(&error)))
}

/// Error for arguments that the fake program does not support, though the real one may.
pub(super) fn unknown(arguments: &[String]) -> FakeProgramError {
    FakeProgramError(format!("unsupported by the fake backend: {}", arguments.join(" ")))
}

/// Runs a program and prints its error message.
pub(super) async fn finish(
    invocation: FakeInvocation,
    program: impl Future<Output = FakeProgramResult> + Send,
) -> FakeExit {
    match program.await {
        Ok(()) => FakeExit::Code(0),
        Err(FakeProgramError(text)) => {
            invocation.complain(format!("{}: {text}\n", invocation.command[0])).await;
            FakeExit::Code(1)
        }
    }
}
