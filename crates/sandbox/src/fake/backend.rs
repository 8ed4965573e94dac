//! Fake backend: its programs, and the specs that it rejects.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use menace_model::network::NetworkMode;
use menace_model::sandbox::{BackendCapabilities, PauseMethod, SandboxSpec};

use super::host_files;
use super::invocation::{FakeExit, FakeInvocation};
use super::machine::{FakeMachine, FakePrograms};
use super::programs;
use super::sandbox::FakeSandbox;
use crate::{Backend, Sandbox, SandboxError, SandboxSnapshot};

/// Number of the next sandbox. Ids are unique on a host, also between fake backends.
static NEXT_SANDBOX: AtomicU64 = AtomicU64::new(0);

/// Backend that keeps its sandboxes in memory.
pub struct FakeBackend {
    programs: Arc<FakePrograms>,
}

impl FakeBackend {
    /// Creates a backend with a few programs that behave like their namesakes: `cat`, `echo`, `env`, `sh`, `sleep` and
    /// so on.
    pub fn new() -> Self {
        Self { programs: Arc::new(programs::all()) }
    }

    /// Adds or replaces a program. A program can be paused, killed or timed out only at an await point.
    #[must_use]
    pub fn with_program<F, R>(mut self, name: impl Into<String>, program: F) -> Self
    where
        F: Fn(FakeInvocation) -> R + Send + Sync + 'static,
        R: Future<Output = FakeExit> + Send + 'static,
    {
        let mut programs = FakePrograms::clone(&self.programs);
        programs.insert(name.into(), Arc::new(move |invocation| Box::pin(program(invocation))));
        self.programs = Arc::new(programs);
        self
    }

    fn make(&self, spec: SandboxSpec) -> Result<Arc<FakeSandbox>, SandboxError> {
        check_limits(&spec)?;
        let files = host_files::read(&spec)?;
        let number = NEXT_SANDBOX.fetch_add(1, Ordering::Relaxed);
        let id = format!("fake-{}-{number}", std::process::id());
        let machine = FakeMachine::new(id, spec, Arc::clone(&self.programs), files);
        Ok(Arc::new(FakeSandbox::new(machine)))
    }
}

impl Default for FakeBackend {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Backend for FakeBackend {
    fn capabilities(&self) -> BackendCapabilities {
        BackendCapabilities {
            backend: "fake".to_owned(),
            isolates: false,
            // A paused program is not polled and cannot observe the pause.
            pause: Some(PauseMethod::Freezer),
            snapshot: true,
            any_user: true,
            ends_at_once: true,
            ..BackendCapabilities::default()
        }
    }

    async fn create(&self, spec: SandboxSpec) -> Result<Arc<dyn Sandbox>, SandboxError> {
        Ok(self.make(spec)?)
    }

    async fn fork(&self, snapshot: &SandboxSnapshot) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let sandbox = self.make(snapshot.spec.clone())?;
        sandbox.restore(snapshot)?;
        Ok(sandbox)
    }
}

pub(super) fn no_network() -> SandboxError {
    SandboxError::Refused {
        problem: "the fake backend does not support networks".to_owned(),
        hint: "check capabilities().network first, or use the native backend".to_owned(),
    }
}

/// Rejects unsupported limits. Disk, output and time limits are enforced; open files need no limit, because no fake
/// program keeps one open.
fn check_limits(spec: &SandboxSpec) -> Result<(), SandboxError> {
    if spec.network != NetworkMode::None {
        return Err(no_network());
    }
    if !spec.faults.is_empty() {
        return Err(SandboxError::Refused {
            problem: "the fake backend does not support system call faults".to_owned(),
            hint: "check capabilities().faults first, or use the native backend".to_owned(),
        });
    }
    let limits = &spec.limits;
    let requested = [
        ("memory", limits.memory.is_some()),
        ("cpus", limits.cpus.is_some()),
        ("cpu_time", limits.cpu_time.is_some()),
        ("pids", limits.pids.is_some()),
    ];
    match requested.into_iter().find(|(_, is_requested)| *is_requested) {
        None => Ok(()),
        Some((limit, _)) => Err(SandboxError::Refused {
            problem: format!("the fake backend cannot enforce the limit `{limit}`"),
            hint: "check capabilities().controllers first, or use a backend with the controller".to_owned(),
        }),
    }
}
