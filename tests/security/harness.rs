//! Runs cases, each with a backend of its own between two looks at the host.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use menace_model::sandbox::{Controller, ExecOutcome, ExecRequest, SandboxSpec};
use menace_sandbox::docker::DockerBackend;
use menace_sandbox::native::{NativeBackend, NativeOptions};
use menace_sandbox::{Backend, Event, Process, Sandbox};
use menace_tests::menace_binary;

use crate::host::{Host, Kind};

/// A case that takes longer hangs; the slowest take about two seconds.
const CASE_LIMIT: Duration = Duration::from_mins(1);

/// How long something is given to happen that should happen at once.
pub(crate) const PROMPT: Duration = Duration::from_secs(10);

pub(crate) type Case<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// What a case works with.
pub(crate) struct World {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) host: Host,
}

/// Runs one case as a process that has one backend, and compares the host before and after.
pub(crate) fn run(kind: Kind, case: impl for<'a> FnOnce(&'a World) -> Case<'a>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let host = Host::look(kind);
        let backend = start_backend(&host).await;
        let world = World { backend, host };
        tokio::time::timeout(CASE_LIMIT, case(&world)).await.expect("the case hangs");
        let World { backend, host } = world;
        host.assert_no_sandbox_is_left().await;
        drop(backend);
        host.assert_unchanged();
    });
}

/// A backend of the kind that the host is looked at for.
pub(crate) async fn start_backend(host: &Host) -> Arc<dyn Backend> {
    match host.containers() {
        Some(containers) => {
            Arc::new(DockerBackend::connect(&containers.options).await.expect("the engine answers"))
        }
        None => start_native(host).await,
    }
}

/// Namespaces of this kernel, with the rights of whoever runs the test.
async fn start_native(host: &Host) -> Arc<dyn Backend> {
    let options = NativeOptions {
        executable: menace_binary().to_owned(),
        runtime_directory: Some(host.runtime_directory().to_owned()),
    };
    let backend = NativeBackend::start(&options).await.expect("this host can isolate");
    assert_eq!(host.backends().len(), 1, "it has written down that it is alive");
    Arc::new(backend)
}

impl World {
    /// A sandbox with nothing in particular.
    pub(crate) async fn sandbox(&self) -> Arc<dyn Sandbox> {
        self.create(SandboxSpec::default()).await
    }

    pub(crate) async fn create(&self, spec: SandboxSpec) -> Arc<dyn Sandbox> {
        self.backend.create(spec).await.unwrap()
    }

    /// Whether refused system calls are reported; it is said if not.
    pub(crate) fn reports_denied(&self) -> bool {
        let reports = self.backend.capabilities().reports_denied;
        if !reports {
            leave_out("reporting system calls that were refused");
        }
        reports
    }

    /// How long anything of a command may be there after its time is over, and its caller may not know it.
    pub(crate) fn grace(&self) -> Duration {
        match self.host.containers() {
            None => Duration::from_millis(100),
            // An engine takes a tenth of a second to start a command, which counts here, and passes on what it says.
            Some(_) => Duration::from_secs(1),
        }
    }

    /// Whether a limit of this kind can be kept for all processes of a sandbox together.
    pub(crate) fn controls(&self, controller: Controller) -> bool {
        self.backend.capabilities().controllers.contains_key(&controller)
    }
}

/// Says that a part of a case was left out, which is never silent.
#[expect(clippy::print_stderr, reason = "a test says what it does not test")]
pub(crate) fn leave_out(what: &str) {
    eprintln!("left out: {what} is nothing that the backend claims on this host");
}

/// A request for a script.
pub(crate) fn script(text: &str) -> ExecRequest {
    ExecRequest::new(["sh", "-c", text])
}

/// Runs a script to its end, whatever that is.
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

/// Waits until a command has printed this.
pub(crate) async fn wait_for(process: &mut dyn Process, text: &str) {
    let mut printed = String::new();
    while !printed.contains(text) {
        match process.next().await.unwrap() {
            Event::Stdout(bytes) => printed.push_str(&String::from_utf8_lossy(&bytes)),
            other => panic!("expected {text:?} after {printed:?}: {other:?}"),
        }
    }
}

/// The sandbox still serves.
pub(crate) async fn is_alive(sandbox: &dyn Sandbox) {
    assert_eq!(read(sandbox, "echo alive").await, "alive\n");
}
