//! Fake backend, and the specs that it rejects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use menace_model::network::NetworkMode;
use menace_model::sandbox::{BackendCapabilities, PauseMethod, SandboxSpec};
use menace_sandbox::{Backend, Sandbox, SandboxError, SandboxSnapshot};

use crate::host_files;
use crate::machine::FakeMachine;
use crate::sandbox::FakeSandbox;

/// Number of the next sandbox. Ids are unique on a host, also between fake backends.
static NEXT_SANDBOX: AtomicU64 = AtomicU64::new(0);

/// Backend that keeps its sandboxes in memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct FakeBackend;

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
        Ok(make(spec)?)
    }

    async fn fork(&self, snapshot: &SandboxSnapshot) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let sandbox = make(snapshot.spec.clone())?;
        sandbox.restore(snapshot)?;
        Ok(sandbox)
    }
}

pub(crate) fn no_network() -> SandboxError {
    SandboxError::Refused {
        problem: "the fake backend does not support networks".to_owned(),
        hint: "check capabilities().network first, or use the native backend".to_owned(),
    }
}

fn make(spec: SandboxSpec) -> Result<Arc<FakeSandbox>, SandboxError> {
    check_limits(&spec)?;
    let files = host_files::read(&spec)?;
    let number = NEXT_SANDBOX.fetch_add(1, Ordering::Relaxed);
    let id = format!("fake-{}-{number}", std::process::id());
    let machine = FakeMachine::new(id, spec, files);
    Ok(Arc::new(FakeSandbox::new(machine)))
}

/// Error for an operation that the fake backend does not support.
pub(crate) fn refused(operation: &str) -> SandboxError {
    SandboxError::Refused {
        problem: format!("the fake backend cannot {operation}"),
        hint: "use the native backend".to_owned(),
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
