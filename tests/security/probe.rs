//! Python programs that run inside a sandbox, with the system calls of this machine; one line of output per attempt.

use std::collections::BTreeMap;
use std::path::Path;

use menace_isolation::seccomp::rows;
use menace_model::sandbox::{ExecOutcome, ExecRequest};
use menace_sandbox::Sandbox;

use crate::harness::CaseContext;

/// Prelude of these programs. `attempt` prints `name=ok` or the name of the error; `call` makes a system call
/// by its name on this architecture, or by its number.
const PRELUDE: &str = r#"
import ctypes, errno, os, signal, socket, stat, sys, time
c = ctypes.CDLL(None, use_errno=True)
c.syscall.restype = ctypes.c_long

def call(name, *arguments):
    ctypes.set_errno(0)
    number = NUMBERS[name] if isinstance(name, str) else name
    wide = [a if isinstance(a, (ctypes.Array, bytes)) or a is None else ctypes.c_ulong(a & (1 << 64) - 1) for a in arguments]
    if c.syscall(ctypes.c_long(number), *wide) == -1:
        raise OSError(ctypes.get_errno(), "")

def say(name, value):
    print(name, value, sep="=", flush=True)

def attempt(name, action):
    try:
        action()
    except OSError as error:
        say(name, errno.errorcode.get(error.errno, error.errno))
    else:
        say(name, "ok")
"#;

/// Request for a Python program.
pub(crate) fn program(text: &str) -> ExecRequest {
    let names = rows().map(|row| format!("'{}': {}", row.name(), row.number)).collect::<Vec<_>>().join(", ");
    ExecRequest::new([interpreter(), "-I", "-S", "-c", &format!("NUMBERS = {{{names}}}\n{PRELUDE}\n{text}")])
}

/// Python of the system if there is one: the shims that version managers put before it on `PATH` are slow to start.
pub(crate) fn interpreter() -> &'static str {
    const OF_THE_SYSTEM: &str = "/usr/bin/python3";
    if Path::new(OF_THE_SYSTEM).exists() { OF_THE_SYSTEM } else { "python3" }
}

/// Runs a Python program to its end.
pub(crate) async fn python(sandbox: &dyn Sandbox, text: &str) -> ExecOutcome {
    sandbox.exec(program(text)).await.unwrap()
}

/// Results of the attempts of a program, by name. The program itself has to succeed.
pub(crate) struct AttemptResults {
    results: BTreeMap<String, String>,
    pub(crate) outcome: ExecOutcome,
}

/// Runs a program with attempts.
pub(crate) async fn attempts(sandbox: &dyn Sandbox, text: &str) -> AttemptResults {
    let outcome = python(sandbox, text).await;
    assert_eq!(outcome.exit_code, Some(0), "{outcome:?}");
    let pairs = outcome.stdout.lines().filter_map(|line| line.split_once('='));
    let results = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    AttemptResults { results, outcome }
}

impl AttemptResults {
    /// Result of one attempt.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.results.get(name).unwrap_or_else(|| panic!("{name} was not tried: {:?}", self.outcome))
    }

    /// Asserts that there were `count` attempts and that each failed with one of `errors`.
    #[track_caller]
    pub(crate) fn assert_all(&self, count: usize, errors: &[&str]) {
        assert_eq!(self.results.len(), count, "{:?}", self.outcome);
        for (name, result) in &self.results {
            assert!(errors.contains(&result.as_str()), "{name} gave {result}, not one of {errors:?}");
        }
    }

    /// Asserts how often system calls were reported as denied, if the backend claims to report them.
    #[track_caller]
    pub(crate) fn assert_denied(&self, context: &CaseContext, counts: &[(&str, u64)]) {
        if !context.reports_denied() {
            return;
        }
        for (name, count) in counts {
            let denials = self.outcome.denied.iter().filter(|denial| denial.syscall == *name);
            let found: u64 = denials.map(|denial| denial.count).sum();
            assert_eq!(found, *count, "{name}: {:?}", self.outcome.denied);
        }
    }
}
