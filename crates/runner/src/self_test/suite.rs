//! Execution of test files by the pytest of the repository's interpreter.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::sandbox::{
    Access, ExecOutcome, ExecRequest, Limits, Mount, SandboxSpec, WORKSPACE, Workspace,
};
use menace_sandbox::{Backend, SandboxError};
use serde::{Deserialize, Serialize};

use super::junit::{TestCase, read_junit};

/// Options of the execution of test files.
#[derive(Debug, Clone)]
pub struct SuiteOptions {
    /// The repository.
    pub repository: PathBuf,
    /// Interpreter, as a path of the host.
    pub python: String,
    /// Directories of the repository from which modules are imported.
    pub roots: Vec<String>,
    /// Timeout of a file.
    pub timeout: Duration,
}

/// Outcome of a test file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteOutcome {
    /// pytest ran these tests.
    Ran {
        /// Tests in order.
        cases: Vec<TestCase>,
    },
    /// pytest did not finish.
    Broken {
        /// Reason.
        reason: String,
    },
    /// pytest is not available.
    Unavailable {
        /// Reason.
        reason: String,
    },
}

/// Exit code with which the driver reports that pytest is missing.
const NO_PYTEST: i32 = 97;
/// Runs the files several times, each time in a fork of a process that has imported pytest and nothing else. stdout
/// carries only the reports, with a zero byte after each; the output of pytest goes to stderr. The driver is loaded
/// before tests run, and changes that tests make to their process end with it.
const DRIVER: &str = include_str!("driver.py");
/// Maximum size of a report in bytes.
const LONGEST_REPORT: u64 = 8 << 20;

/// Runs test files `times` times, one after the other in their own sandbox. The outcomes are in order; the first one
/// that did not finish is the last.
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
    let mut command = vec![interpreter_path(options), "-c".to_owned(), DRIVER.to_owned(), times.to_string()];
    command.extend_from_slice(files);
    let mut request = ExecRequest::new(command).timeout(options.timeout);
    let roots: Vec<String> = options.roots.iter().map(|root| format!("{WORKSPACE}/{root}")).collect();
    request.environment.insert("PYTHONPATH".into(), [vec![WORKSPACE.to_owned()], roots].concat().join(":"));
    // Compiled files are written: later repetitions reuse what the first one compiles, and the files are removed with
    // the sandbox.
    let outcome = backend.run(spec, request).await?;
    let reports: Vec<&str> = outcome.stdout.split('\0').take(times).collect();
    let mut seen: Vec<SuiteOutcome> =
        reports.into_iter().map(|report| outcome_of_report(report, &outcome, options)).collect();
    // A repetition without a report did not finish, for the same reason as the first one without.
    let is_over = |outcome: &SuiteOutcome| !matches!(outcome, SuiteOutcome::Ran { .. });
    let last = seen.iter().position(is_over).map_or(seen.len(), |index| index + 1);
    seen.truncate(last);
    Ok(seen)
}

fn outcome_of_report(report: &str, outcome: &ExecOutcome, options: &SuiteOptions) -> SuiteOutcome {
    if outcome.timed_out {
        let seconds = options.timeout.as_secs_f64();
        return SuiteOutcome::Broken { reason: format!("timed out after {seconds} s") };
    }
    if outcome.oom {
        return SuiteOutcome::Broken { reason: "memory limit exceeded".into() };
    }
    if outcome.exit_code == Some(NO_PYTEST) {
        return SuiteOutcome::Unavailable { reason: format!("{} has no pytest", options.python) };
    }
    match read_junit(report) {
        Ok(cases) if !cases.is_empty() => SuiteOutcome::Ran { cases },
        Ok(_) => SuiteOutcome::Broken { reason: "no tests found".into() },
        Err(error) => {
            let last = outcome.stderr.lines().rev().find(|line| !line.trim().is_empty());
            let ended = match (outcome.signal, outcome.exit_code) {
                (Some(signal), _) => format!("pytest was killed by signal {signal}"),
                (None, code) => format!("pytest exited with code {}", code.unwrap_or(-1)),
            };
            SuiteOutcome::Broken {
                reason: last.map_or_else(|| format!("{ended}; {error}"), |last| format!("{ended}: {last}")),
            }
        }
    }
}

/// Path of the interpreter inside the sandbox.
fn interpreter_path(options: &SuiteOptions) -> String {
    let repository = std::path::absolute(&options.repository).unwrap_or_else(|_| options.repository.clone());
    match Path::new(&options.python).strip_prefix(repository) {
        Ok(path) => format!("{WORKSPACE}/{}", path.display()),
        Err(_) => options.python.clone(),
    }
}

/// Mount of the installation prefix of an interpreter that belongs neither to the system nor to the repository.
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
