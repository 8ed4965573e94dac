//! Removal of sandboxes' containers and volumes, also in the background.
//!
//! A dropped sandbox is removed by a thread with its own connections: the async runtime of the code that dropped it may
//! shut down before the engine has answered.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::{
    KillContainerOptions, ListContainersOptions, ListVolumesOptions, RemoveContainerOptions,
    RemoveVolumeOptions,
};

use super::engine::{DockerEngine, is_conflict, is_missing};
use super::labels::{SANDBOX, filter};
use super::options::DockerOptions;
use crate::SandboxError;

/// Number of retries of a removal that conflicts with a concurrent one, and the interval between them.
const ATTEMPTS: u32 = 100;
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Removes all resources with the label of a sandbox: its container and its volumes. Missing ones are not an error.
pub(super) async fn remove(docker: &Docker, id: &str) -> Result<(), Error> {
    let options = ListContainersOptions {
        all: true,
        filters: Some(filter(SANDBOX, id)),
        ..ListContainersOptions::default()
    };
    for container in docker.list_containers(Some(options)).await? {
        remove_container(docker, container.id.as_deref().unwrap_or_default()).await?;
    }
    let options = ListVolumesOptions { filters: Some(filter(SANDBOX, id)) };
    for volume in docker.list_volumes(Some(options)).await?.volumes.unwrap_or_default() {
        remove_volume(docker, &volume.name).await?;
    }
    Ok(())
}

/// Kills and removes a container, and waits for completion.
pub(super) async fn remove_container(docker: &Docker, container: &str) -> Result<(), Error> {
    for _ in 0..ATTEMPTS {
        let options = RemoveContainerOptions { force: true, v: true, link: false };
        match docker.remove_container(container, Some(options)).await {
            Err(error) if is_missing(&error) => return Ok(()),
            // The container is already being removed.
            Err(error) if is_conflict(&error) => tokio::time::sleep(RETRY_INTERVAL).await,
            result => return result,
        }
    }
    Err(still_in_use(container))
}

/// Fallback after a failed `remove`: kills the sandbox's container first. The engine may be able to remove a killed
/// container where it cannot remove a running one.
pub(super) async fn kill_and_remove(docker: &Docker, id: &str) -> Result<(), Error> {
    let options = ListContainersOptions {
        all: true,
        filters: Some(filter(SANDBOX, id)),
        ..ListContainersOptions::default()
    };
    for container in docker.list_containers(Some(options)).await? {
        let signal = KillContainerOptions { signal: "SIGKILL".into() };
        match docker.kill_container(container.id.as_deref().unwrap_or_default(), Some(signal)).await {
            Err(error) if !is_missing(&error) && !is_conflict(&error) => return Err(error),
            _ => {}
        }
    }
    remove(docker, id).await
}

/// Removes a volume.
pub(super) async fn remove_volume(docker: &Docker, volume: &str) -> Result<(), Error> {
    for _ in 0..ATTEMPTS {
        match docker.remove_volume(volume, None::<RemoveVolumeOptions>).await {
            Err(error) if is_missing(&error) => return Ok(()),
            // A container that has it is being removed.
            Err(error) if is_conflict(&error) => tokio::time::sleep(RETRY_INTERVAL).await,
            result => return result,
        }
    }
    Err(still_in_use(volume))
}

fn still_in_use(what: &str) -> Error {
    Error::DockerStreamError { error: format!("{what} is in use and could not be removed") }
}

/// Background thread that removes dropped sandboxes. Dropping the janitor waits until all of them are removed.
pub(super) struct ContainerJanitor {
    work: Mutex<Option<Sender<String>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Sandboxes that could not be removed, for a later retry.
    failed: Arc<Mutex<Vec<String>>>,
}

impl ContainerJanitor {
    /// Starts the thread.
    pub(super) fn start(options: &DockerOptions) -> Result<Arc<Self>, SandboxError> {
        let (work, pending) = channel();
        let options = options.clone();
        let failed = Arc::<Mutex<Vec<String>>>::default();
        let failures = Arc::clone(&failed);
        let thread = std::thread::Builder::new()
            .name("menace-janitor".into())
            .spawn(move || remove_pending(&pending, &options, &failures))
            .map_err(SandboxError::io("start a thread"))?;
        Ok(Arc::new(Self { work: Mutex::new(Some(work)), thread: Mutex::new(Some(thread)), failed }))
    }

    /// Takes the sandboxes that could not be removed since the last call.
    pub(super) fn take_failed(&self) -> Vec<String> {
        std::mem::take(&mut self.failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Queues a sandbox for removal.
    pub(super) fn remove_later(&self, id: &str) {
        let work = self.work.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(work) = work.as_ref() {
            // The thread lives as long as the sender.
            drop(work.send(id.to_owned()));
        }
    }
}

impl Drop for ContainerJanitor {
    fn drop(&mut self) {
        drop(self.work.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).take());
        let thread = self.thread.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::warn!("the thread that removes dropped sandboxes panicked");
        }
    }
}

fn remove_pending(pending: &Receiver<String>, options: &DockerOptions, failures: &Mutex<Vec<String>>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        tracing::warn!("dropped sandboxes are not removed: failed to create an async runtime");
        return;
    };
    for id in pending {
        let removed = runtime.block_on(async {
            let engine = DockerEngine::connect(options).await?;
            remove(&engine.docker, &id).await.map_err(|error| engine.failed("remove a container", error))
        });
        if let Err(error) = removed {
            tracing::warn!("failed to remove dropped sandbox {id}: {error}");
            failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(id);
        }
    }
}
