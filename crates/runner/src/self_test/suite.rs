//! Execution of test files by the pytest of the repository's interpreter.

use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::sandbox::{
    ExecOutcome, ExecRequest, HostMount, MountAccess, SandboxLimits, SandboxSpec, WORKSPACE, WorkspaceContent,
};
use menace_sandbox::{Backend, SandboxError};
use serde::{Deserialize, Serialize};

use super::junit::{TestCase, read_junit};

/// Options of the execution of test files.
#[derive(Debug, Clone)]
pub struct TestFileOptions {
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
pub enum TestFileOutcome {
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
    options: &TestFileOptions,
    files: &[String],
    times: usize,
) -> Result<Vec<TestFileOutcome>, SandboxError> {
    let spec = SandboxSpec {
        workspace: WorkspaceContent::CopyOnWrite(options.repository.clone()),
        mounts: installation(options).into_iter().collect(),
        limits: SandboxLimits { output: LONGEST_REPORT * times as u64, ..SandboxLimits::default() },
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
    let mut seen: Vec<TestFileOutcome> =
        reports.into_iter().map(|report| outcome_of_report(report, &outcome, options)).collect();
    // A repetition without a report did not finish, for the same reason as the first one without.
    let is_over = |outcome: &TestFileOutcome| !matches!(outcome, TestFileOutcome::Ran { .. });
    let last = seen.iter().position(is_over).map_or(seen.len(), |index| index + 1);
    seen.truncate(last);
    Ok(seen)
}

fn outcome_of_report(report: &str, outcome: &ExecOutcome, options: &TestFileOptions) -> TestFileOutcome {
    if outcome.timed_out {
        let seconds = options.timeout.as_secs_f64();
        return TestFileOutcome::Broken { reason: format!("timed out after {seconds} s") };
    }
    if outcome.oom {
        return TestFileOutcome::Broken { reason: "memory limit exceeded".into() };
    }
    if outcome.exit_code == Some(NO_PYTEST) {
        return TestFileOutcome::Unavailable { reason: format!("{} has no pytest", options.python) };
    }
    match read_junit(report) {
        Ok(cases) if !cases.is_empty() => TestFileOutcome::Ran { cases },
        Ok(_) => TestFileOutcome::Broken { reason: "no tests found".into() },
        Err(error) => {
            let last = outcome.stderr.lines().rev().find(|line| !line.trim().is_empty());
            let ended = match (outcome.signal, outcome.exit_code) {
                (Some(signal), _) => format!("pytest was killed by signal {signal}"),
                (None, code) => format!("pytest exited with code {}", code.unwrap_or(-1)),
            };
            TestFileOutcome::Broken {
                reason: last.map_or_else(|| format!("{ended}; {error}"), |last| format!("{ended}: {last}")),
            }
        }
    }
}

/// Path of the interpreter inside the sandbox.
fn interpreter_path(options: &TestFileOptions) -> String {
    let repository = std::path::absolute(&options.repository).unwrap_or_else(|_| options.repository.clone());
    match Path::new(&options.python).strip_prefix(repository) {
        Ok(path) => format!("{WORKSPACE}/{}", path.display()),
        Err(_) => options.python.clone(),
    }
}

/// Mount of the installation prefix of an interpreter that belongs neither to the system nor to the repository.
fn installation(options: &TestFileOptions) -> Option<HostMount> {
    let python = Path::new(&options.python);
    let is_foreign =
        python.is_absolute() && !python.starts_with("/usr") && !python.starts_with(&options.repository);
    let prefix = python.parent()?.parent()?;
    is_foreign.then(|| HostMount {
        source: prefix.to_owned(),
        target: prefix.to_owned(),
        access: MountAccess::ReadOnly,
    })
}
