//! One file of tests, run by the pytest of the repository's interpreter.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::sandbox::{
    Access, ExecOutcome, ExecRequest, Limits, Mount, SandboxSpec, WORKSPACE, Workspace,
};
use menace_sandbox::{Backend, SandboxError};
use serde::{Deserialize, Serialize};

use super::junit::{TestCase, read_junit};

/// How test files are run.
#[derive(Debug, Clone)]
pub struct SuiteOptions {
    /// The repository.
    pub repository: PathBuf,
    /// The interpreter, as the host names it.
    pub python: String,
    /// Directories of the repository from which modules are imported.
    pub roots: Vec<String>,
    /// How long a file may take.
    pub timeout: Duration,
}

/// What came of a file of tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteOutcome {
    /// pytest ran, with these tests.
    Ran {
        /// In order.
        cases: Vec<TestCase>,
    },
    /// pytest did not get to an end.
    Broken {
        /// Why.
        reason: String,
    },
    /// There is nothing that could run it.
    Unavailable {
        /// Why.
        reason: String,
    },
}

/// Exit code with which the driver says that there is no pytest.
const NO_PYTEST: i32 = 97;
/// Runs the files several times, each time in a copy of a process that has imported pytest and nothing else. stdout carries
/// the reports alone, with a zero byte after each; what pytest prints goes to stderr. It is there before tests run, and what
/// they do to the process that they run in is gone with it.
const DRIVER: &str = include_str!("driver.py");
/// Bytes of a report that are kept.
const LONGEST_REPORT: u64 = 8 << 20;

/// Runs files of tests so many times, one after the other in a sandbox of their own. What came of each time is in order; if
/// it did not get to an end, that is the last.
pub async fn run_test_files(
    backend: &dyn Backend,
    options: &SuiteOptions,
    files: &[String],
    times: usize,
) -> Result<Vec<SuiteOutcome>, SandboxError> {
    let spec = SandboxSpec {
        workspace: Workspace::CopyOnWrite(options.repository.clone()),
        mounts: installation(options).into_iter().collect(),
        limits: Limits { output: LONGEST_REPORT * times as u64, ..Limits::default() },
        ..SandboxSpec::default()
    };
    let mut command = vec![inside(options), "-c".to_owned(), DRIVER.to_owned(), times.to_string()];
    command.extend_from_slice(files);
    let mut request = ExecRequest::new(command).timeout(options.timeout);
    let roots: Vec<String> = options.roots.iter().map(|root| format!("{WORKSPACE}/{root}")).collect();
    request.environment.insert("PYTHONPATH".into(), [vec![WORKSPACE.to_owned()], roots].concat().join(":"));
    // Compiled files are written: what the first of several times compiles the others need not, and they are gone with the
    // sandbox.
    let outcome = backend.run(spec, request).await?;
    let reports: Vec<&str> = outcome.stdout.split('\0').take(times).collect();
    let mut seen: Vec<SuiteOutcome> =
        reports.into_iter().map(|report| judged(report, &outcome, options)).collect();
    // What there is no report of has not come to an end, for the same reason as the first of it.
    let is_over = |outcome: &SuiteOutcome| !matches!(outcome, SuiteOutcome::Ran { .. });
    let last = seen.iter().position(is_over).map_or(seen.len(), |index| index + 1);
    seen.truncate(last);
    Ok(seen)
}

fn judged(report: &str, outcome: &ExecOutcome, options: &SuiteOptions) -> SuiteOutcome {
    if outcome.timed_out {
        let seconds = options.timeout.as_secs_f64();
        return SuiteOutcome::Broken { reason: format!("it did not end within {seconds} s") };
    }
    if outcome.oom {
        return SuiteOutcome::Broken { reason: "the memory limit was hit".into() };
    }
    if outcome.exit_code == Some(NO_PYTEST) {
        return SuiteOutcome::Unavailable { reason: format!("{} has no pytest", options.python) };
    }
    match read_junit(report) {
        Ok(cases) if !cases.is_empty() => SuiteOutcome::Ran { cases },
        Ok(_) => SuiteOutcome::Broken { reason: "it has no tests".into() },
        Err(error) => {
            let last = outcome.stderr.lines().rev().find(|line| !line.trim().is_empty());
            let ended = match (outcome.signal, outcome.exit_code) {
                (Some(signal), _) => format!("pytest was ended by signal {signal}"),
                (None, code) => format!("pytest ended with exit code {}", code.unwrap_or(-1)),
            };
            SuiteOutcome::Broken {
                reason: last.map_or_else(|| format!("{ended}; {error}"), |last| format!("{ended}: {last}")),
            }
        }
    }
}

/// Where the interpreter is inside.
fn inside(options: &SuiteOptions) -> String {
    let repository = std::path::absolute(&options.repository).unwrap_or_else(|_| options.repository.clone());
    match Path::new(&options.python).strip_prefix(repository) {
        Ok(path) => format!("{WORKSPACE}/{}", path.display()),
        Err(_) => options.python.clone(),
    }
}

/// What an interpreter that is neither of the system nor of the repository is made of.
fn installation(options: &SuiteOptions) -> Option<Mount> {
    let python = Path::new(&options.python);
    let is_foreign =
        python.is_absolute() && !python.starts_with("/usr") && !python.starts_with(&options.repository);
    let prefix = python.parent()?.parent()?;
    is_foreign.then(|| Mount {
        source: prefix.to_owned(),
        target: prefix.to_owned(),
        access: Access::ReadOnly,
    })
}
