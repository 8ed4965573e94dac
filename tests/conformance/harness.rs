//! Runs cases, and has the helpers that most of them use.

use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use menace_model::sandbox::{ExecOutcome, ExecRequest, SandboxSpec};
use menace_sandbox::{Backend, ProcessEvent, Sandbox, SandboxError, SandboxProcess};

/// A case that takes longer hangs; the slowest take about two seconds.
const CASE_LIMIT: Duration = Duration::from_mins(1);

/// Deadline for things that should happen immediately.
pub(crate) const PROMPT: Duration = Duration::from_secs(10);

pub(crate) type ConformanceCase<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Runs one case with a backend of its own, on one thread: a backend that blocks it hangs here.
pub(crate) fn run<B: Future<Output = Arc<dyn Backend>>>(
    backend: impl FnOnce() -> B,
    case: impl for<'a> FnOnce(&'a dyn Backend) -> ConformanceCase<'a>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let backend = backend().await;
        tokio::time::timeout(CASE_LIMIT, case(backend.as_ref())).await.expect("the case hangs");
    });
}

/// Reports that a part of a case is skipped because the backend does not claim the capability.
#[expect(clippy::print_stderr, reason = "a test reports what it does not test")]
pub(crate) fn skip_unclaimed(backend: &dyn Backend, what: &str) {
    eprintln!("skipped: backend {} does not claim: {what}", backend.capabilities().backend);
}

/// Creates a sandbox with the default spec.
pub(crate) async fn sandbox(backend: &dyn Backend) -> Arc<dyn Sandbox> {
    backend.create(SandboxSpec::default()).await.unwrap()
}

/// Request for a shell script.
pub(crate) fn script(text: &str) -> ExecRequest {
    ExecRequest::new(["sh", "-c", text])
}

/// Runs a script and returns its outcome.
pub(crate) async fn sh(sandbox: &dyn Sandbox, text: &str) -> ExecOutcome {
    sandbox.exec(script(text)).await.unwrap()
}

/// Runs a script that has to succeed and returns what it printed.
pub(crate) async fn read(sandbox: &dyn Sandbox, text: &str) -> String {
    let outcome = sh(sandbox, text).await;
    assert_eq!(outcome.exit_code, Some(0), "{text}: {outcome:?}");
    outcome.stdout
}

/// Whether a path exists in the sandbox.
pub(crate) async fn path_exists(sandbox: &dyn Sandbox, path: &str) -> bool {
    let outcome = sandbox.exec(ExecRequest::new(["test", "-e", path])).await.unwrap();
    match outcome.exit_code {
        Some(0) => true,
        Some(1) => false,
        _ => panic!("test -e {path}: {outcome:?}"),
    }
}

/// Reads the remaining stdout of a command and its outcome.
pub(crate) async fn finish(process: &mut dyn SandboxProcess) -> (String, ExecOutcome) {
    let mut stdout = Vec::new();
    loop {
        match process.next().await.unwrap() {
            ProcessEvent::Stdout(bytes) => stdout.extend(bytes),
            ProcessEvent::Stderr(bytes) => {
                panic!("unexpected on stderr: {}", String::from_utf8_lossy(&bytes))
            }
            ProcessEvent::Exited(outcome) => return (String::from_utf8(stdout).unwrap(), *outcome),
        }
    }
}

/// Reads stdout until it has at least `count` bytes.
pub(crate) async fn read_at_least(process: &mut dyn SandboxProcess, count: usize) -> String {
    let mut stdout = Vec::new();
    while stdout.len() < count {
        match process.next().await.unwrap() {
            ProcessEvent::Stdout(bytes) => stdout.extend(bytes),
            other => panic!("expected stdout after {:?}: {other:?}", String::from_utf8_lossy(&stdout)),
        }
    }
    String::from_utf8(stdout).unwrap()
}

/// Unwraps the error of a result whose success value has no `Debug`.
#[track_caller]
pub(crate) fn error<T>(result: Result<T, SandboxError>) -> SandboxError {
    match result {
        Ok(_) => panic!("this should have been an error"),
        Err(error) => error,
    }
}

/// Asserts that the result is an error that names the path.
#[track_caller]
pub(crate) fn names<T>(result: Result<T, SandboxError>, path: &Path) {
    let text = error(result).to_string();
    assert!(text.contains(&path.display().to_string()), "{text:?} does not name {}", path.display());
}

/// Awaits all futures concurrently.
pub(crate) async fn all<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut pending: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        for (future, result) in pending.iter_mut().filter(|(_, result)| result.is_none()) {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                *result = Some(value);
            }
        }
        if pending.iter().all(|(_, result)| result.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    pending.into_iter().filter_map(|(_, result)| result).collect()
}
