//! Runs cases, each with its own backend, and compares the host before and after.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use menace_model::sandbox::{ExecOutcome, ExecRequest, ResourceController, SandboxSpec};
use menace_sandbox::docker::DockerBackend;
use menace_sandbox::native::{NativeBackend, NativeOptions};
use menace_sandbox::{Backend, ProcessEvent, Sandbox, SandboxProcess};
use menace_tests::menace_binary;

use crate::host::{BackendKind, HostState};

/// A case that takes longer hangs; the slowest take about two seconds.
const CASE_LIMIT: Duration = Duration::from_mins(1);

/// Deadline for things that should happen immediately.
pub(crate) const PROMPT: Duration = Duration::from_secs(10);

pub(crate) type SecurityCase<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Backend and host state of a case.
pub(crate) struct CaseContext {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) host: HostState,
}

/// Runs one case with one backend, and compares the host before and after.
pub(crate) fn run(kind: BackendKind, case: impl for<'a> FnOnce(&'a CaseContext) -> SecurityCase<'a>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let host = HostState::look(kind);
        let backend = start_backend(&host).await;
        let context = CaseContext { backend, host };
        tokio::time::timeout(CASE_LIMIT, case(&context)).await.expect("the case hangs");
        let CaseContext { backend, host } = context;
        host.assert_no_sandbox_is_left().await;
        drop(backend);
        host.assert_unchanged();
    });
}

/// Starts a backend of the kind of `host`.
pub(crate) async fn start_backend(host: &HostState) -> Arc<dyn Backend> {
    match host.containers() {
        Some(containers) => {
            Arc::new(DockerBackend::connect(&containers.options).await.expect("the engine answers"))
        }
        None => start_native(host).await,
    }
}

/// Starts the native backend with the rights of the current user.
async fn start_native(host: &HostState) -> Arc<dyn Backend> {
    let options = NativeOptions {
        executable: menace_binary().to_owned(),
        runtime_directory: Some(host.runtime_directory().to_owned()),
    };
    let backend = NativeBackend::start(&options).await.expect("this host can isolate");
    assert_eq!(host.backends().len(), 1, "the backend has one entry in the registry");
    Arc::new(backend)
}

impl CaseContext {
    /// Creates a sandbox with the default spec.
    pub(crate) async fn sandbox(&self) -> Arc<dyn Sandbox> {
        self.create(SandboxSpec::default()).await
    }

    pub(crate) async fn create(&self, spec: SandboxSpec) -> Arc<dyn Sandbox> {
        self.backend.create(spec).await.unwrap()
    }

    /// Whether denied system calls are reported; reports the skip if not.
    pub(crate) fn reports_denied(&self) -> bool {
        let reports = self.backend.capabilities().reports_denied;
        if !reports {
            skip_unclaimed("reporting system calls that were refused");
        }
        reports
    }

    /// Longest time after a timeout until all processes of the command are gone and its caller is notified.
    pub(crate) fn grace(&self) -> Duration {
        match self.host.containers() {
            None => Duration::from_millis(100),
            // An engine takes a tenth of a second to start a command, which counts here, and forwards its output.
            Some(_) => Duration::from_secs(1),
        }
    }

    /// Whether the backend has this controller, which limits all processes of a sandbox together.
    pub(crate) fn controls(&self, controller: ResourceController) -> bool {
        self.backend.capabilities().controllers.contains_key(&controller)
    }
}

/// Reports that a part of a case is skipped because the backend does not claim the capability on this host.
#[expect(clippy::print_stderr, reason = "a test reports what it does not test")]
pub(crate) fn skip_unclaimed(what: &str) {
    eprintln!("skipped: the backend does not claim on this host: {what}");
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

/// Runs a script that has to fail.
pub(crate) async fn refused(sandbox: &dyn Sandbox, text: &str) {
    let outcome = sh(sandbox, text).await;
    assert!(outcome.exit_code.is_some_and(|code| code != 0), "{text} was not refused: {outcome:?}");
}

/// Waits until a command has printed `text`.
pub(crate) async fn wait_for(process: &mut dyn SandboxProcess, text: &str) {
    let mut printed = String::new();
    while !printed.contains(text) {
        match process.next().await.unwrap() {
            ProcessEvent::Stdout(bytes) => printed.push_str(&String::from_utf8_lossy(&bytes)),
            other => panic!("expected {text:?} after {printed:?}: {other:?}"),
        }
    }
}

/// Asserts that the sandbox still executes commands.
pub(crate) async fn is_alive(sandbox: &dyn Sandbox) {
    assert_eq!(read(sandbox, "echo alive").await, "alive\n");
}
