//! Shared handle of one container.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bollard::errors::Error;
use bollard::models::ContainerState;
use bollard::query_parameters::KillContainerOptions;

use super::engine::{DockerEngine, is_conflict, is_missing};
use crate::SandboxError;

/// Time that killed processes may take to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(3);

/// Container of a sandbox. Outlives the sandbox while a command still has to be notified of its end.
pub(super) struct ContainerHandle {
    pub(super) engine: Arc<DockerEngine>,
    /// Id of the sandbox.
    pub(super) id: String,
    /// Id of the container in the engine.
    pub(super) container: String,
    /// User of the commands in the engine's notation.
    pub(super) user: String,
    pub(super) is_destroyed: AtomicBool,
    pub(super) is_paused: AtomicBool,
}

impl ContainerHandle {
    pub(super) fn gone(&self) -> SandboxError {
        SandboxError::Gone { id: self.id.clone() }
    }

    /// Returns [`SandboxError::Gone`] once the sandbox is destroyed.
    pub(super) fn check_alive(&self) -> Result<(), SandboxError> {
        if self.is_destroyed.load(Ordering::Acquire) { Err(self.gone()) } else { Ok(()) }
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Acquire)
    }

    /// Explains a failed request: the container is gone, is paused, or the engine's own error.
    pub(super) async fn failed(&self, action: &'static str, error: Error) -> SandboxError {
        if is_missing(&error) {
            return self.gone();
        }
        if !matches!(error, Error::DockerResponseServerError { .. }) {
            return self.engine.failed(action, error);
        }
        if is_conflict(&error) && self.is_paused() {
            return SandboxError::Refused {
                problem: format!("sandbox {} is paused", self.id),
                hint: "resume it first".into(),
            };
        }
        // The engine's error for an ended container differs between requests.
        match self.running_state().await {
            Err(gone) => gone,
            Ok(_) => self.engine.failed(action, error),
        }
    }

    /// State of the container, which must exist and run.
    pub(super) async fn running_state(&self) -> Result<ContainerState, SandboxError> {
        self.check_alive()?;
        let state = self.state().await?;
        if state.running == Some(true) { Ok(state) } else { Err(self.gone()) }
    }

    /// State of the container, which must exist.
    pub(super) async fn state(&self) -> Result<ContainerState, SandboxError> {
        match self.engine.docker.inspect_container(&self.container, None).await {
            Ok(found) => found.state.ok_or_else(|| self.gone()),
            Err(error) if is_missing(&error) => Err(self.gone()),
            Err(error) => Err(self.engine.failed("inspect a container", error)),
        }
    }

    /// Makes the init process kill all other processes of the container, in any state.
    pub(super) async fn kill_everything(&self) -> Result<(), SandboxError> {
        self.signal_init_process("SIGUSR1").await
    }

    /// Makes the init process continue the leaders of commands, which the commands can have stopped.
    pub(super) async fn wake_leaders(&self) -> Result<(), SandboxError> {
        self.signal_init_process("SIGUSR2").await
    }

    async fn signal_init_process(&self, signal: &str) -> Result<(), SandboxError> {
        self.check_alive()?;
        let options = KillContainerOptions { signal: signal.into() };
        match self.engine.docker.kill_container(&self.container, Some(options)).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed("signal a container", error).await),
        }
    }

    /// Kills all other processes of the container and waits until they are gone. A program can suppress a signal to the
    /// init process by sending the same signal continuously, so it is repeated until it has arrived.
    pub(super) async fn empty(&self) -> Result<(), SandboxError> {
        let emptied = async {
            loop {
                self.kill_everything().await?;
                if super::stats::processes(self).await?.is_none_or(|count| count == 0) {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(KILL_TIMEOUT, emptied).await.unwrap_or_else(|_| {
            Err(SandboxError::Protocol(format!("failed to kill all processes in sandbox {}", self.id)))
        })
    }

    /// Kills the container itself when nothing in it is still needed.
    pub(super) async fn kill_container(&self) {
        let options = KillContainerOptions { signal: "SIGKILL".into() };
        if let Err(error) = self.engine.docker.kill_container(&self.container, Some(options)).await
            && !is_missing(&error)
            && !is_conflict(&error)
        {
            tracing::warn!("failed to kill the container of sandbox {}: {error}", self.id);
        }
    }
}
