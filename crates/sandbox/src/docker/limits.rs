//! Change of the limits of a running container.

use bollard::models::ContainerUpdateBody;
use menace_model::sandbox::LimitsChange;

use super::configuration::{OUR_PROCESSES, nano_cpus};
use super::handle::ContainerHandle;
use crate::SandboxError;

/// Applies changed limits through the engine. The limits must have been checked.
pub(super) async fn change_limits(
    handle: &ContainerHandle,
    change: LimitsChange,
) -> Result<(), SandboxError> {
    handle.check_alive()?;
    let memory = change.memory.and_then(|bytes| i64::try_from(bytes).ok());
    let body = ContainerUpdateBody {
        memory,
        memory_swap: memory,
        nano_cpus: change.cpus.map(nano_cpus),
        pids_limit: change.pids.and_then(|count| i64::try_from(count + OUR_PROCESSES).ok()),
        ..ContainerUpdateBody::default()
    };
    match handle.engine.docker.update_container(&handle.container, body).await {
        Ok(()) => Ok(()),
        Err(error) => Err(handle.failed("change limits of a container", error).await),
    }
}
