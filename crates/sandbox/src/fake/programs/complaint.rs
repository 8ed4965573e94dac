//! How programs fail: a line on stderr and the exit code 1.

use std::future::Future;
use std::io;

use crate::fake::error_number::reason;
use crate::fake::invocation::{Exit, Invocation};

/// What a program says before it returns 1.
pub(super) struct Complaint(pub(super) String);

pub(super) type Finished = Result<(), Complaint>;

impl From<io::Error> for Complaint {
    fn from(error: io::Error) -> Self {
        Self(format!("write error: {}", reason(&error)))
    }
}

/// For errors about one path.
pub(super) fn about(path: &str) -> impl Fn(io::Error) -> Complaint {
    move |error| Complaint(format!("{path}: {}", reason(&error)))
}

/// For arguments that the real program may know and the fake does not.
pub(super) fn unknown(arguments: &[String]) -> Complaint {
    Complaint(format!("the fake does not know these arguments: {}", arguments.join(" ")))
}

/// Runs a program and says what it complains about.
pub(super) async fn finish(invocation: Invocation, program: impl Future<Output = Finished> + Send) -> Exit {
    match program.await {
        Ok(()) => Exit::Code(0),
        Err(Complaint(text)) => {
            invocation.complain(format!("{}: {text}\n", invocation.command[0])).await;
            Exit::Code(1)
        }
    }
}
