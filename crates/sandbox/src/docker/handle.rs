//! What everything that belongs to one container shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bollard::errors::Error;
use bollard::models::ContainerState;
use bollard::query_parameters::KillContainerOptions;

use super::engine::{Engine, is_conflict, is_missing};
use crate::SandboxError;

/// How long processes that were killed may take to be gone.
const PATIENCE: Duration = Duration::from_secs(3);

/// A container of ours. It outlives the sandbox where a command still has to hear of its end.
pub(super) struct Handle {
    pub(super) engine: Arc<Engine>,
    /// The sandbox.
    pub(super) id: String,
    /// The container, by the name that the engine gave it.
    pub(super) container: String,
    /// Who the commands are, as the engine writes it.
    pub(super) user: String,
    pub(super) is_destroyed: AtomicBool,
    pub(super) is_paused: AtomicBool,
}

impl Handle {
    pub(super) fn gone(&self) -> SandboxError {
        SandboxError::Gone { id: self.id.clone() }
    }

    /// Answers [`SandboxError::Gone`] after the end.
    pub(super) fn check_alive(&self) -> Result<(), SandboxError> {
        if self.is_destroyed.load(Ordering::Acquire) { Err(self.gone()) } else { Ok(()) }
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Acquire)
    }

    /// Why something could not be done with the container: it is gone, stands still, or what the engine says.
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
        // What the engine says about a container that ended differs with what was asked.
        match self.look().await {
            Err(gone) => gone,
            Ok(_) => self.engine.failed(action, error),
        }
    }

    /// Looks at the container, which has to be there and to run.
    pub(super) async fn look(&self) -> Result<ContainerState, SandboxError> {
        self.check_alive()?;
        let state = self.state().await?;
        if state.running == Some(true) { Ok(state) } else { Err(self.gone()) }
    }

    /// Looks at the container, which has to be there.
    pub(super) async fn state(&self) -> Result<ContainerState, SandboxError> {
        match self.engine.docker.inspect_container(&self.container, None).await {
            Ok(found) => found.state.ok_or_else(|| self.gone()),
            Err(error) if is_missing(&error) => Err(self.gone()),
            Err(error) => Err(self.engine.failed("look at a container", error)),
        }
    }

    /// Has the first process kill everything else in the container, whatever state it is in.
    pub(super) async fn kill_everything(&self) -> Result<(), SandboxError> {
        self.tell_first_process("SIGUSR1").await
    }

    /// Has the first process wake our leaders of commands, which commands can stop.
    pub(super) async fn wake_leaders(&self) -> Result<(), SandboxError> {
        self.tell_first_process("SIGUSR2").await
    }

    async fn tell_first_process(&self, signal: &str) -> Result<(), SandboxError> {
        self.check_alive()?;
        let options = KillContainerOptions { signal: signal.into() };
        match self.engine.docker.kill_container(&self.container, Some(options)).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed("signal a container", error).await),
        }
    }

    /// Kills everything else in the container, and waits until all of it is gone. A program can hold back a signal to the first
    /// process by sending the same without end, so it is sent until it has arrived.
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
        tokio::time::timeout(PATIENCE, emptied).await.unwrap_or_else(|_| {
            Err(SandboxError::Protocol(format!("what is in sandbox {} could not be ended", self.id)))
        })
    }

    /// Ends the container itself: there is nothing left to save.
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
