//! Lookup of the container of a sandbox that an earlier process created.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::ListContainersOptions;
use menace_model::sandbox::SandboxSpec;

use super::configuration::user_text;
use super::engine::DockerEngine;
use super::handle::ContainerHandle;
use super::labels::{OWNER, SANDBOX, filter};
use crate::SandboxError;

/// Name prefix of menace's containers.
const PREFIX: &str = "menace-";

/// Container name of a sandbox, with the time at which its host files had been copied.
pub(super) fn name_of(id: &str, since: Option<i128>) -> String {
    match since {
        None => format!("{PREFIX}{id}"),
        Some(since) => format!("{PREFIX}{id}.{since}"),
    }
}

fn parse_since(name: &str) -> Option<i128> {
    name.rsplit_once('.')?.1.parse().ok()
}

/// Finds the container of a sandbox of this owner, in any state, with the time in its name. `None` if there is none.
pub(super) async fn find(
    engine: &Arc<DockerEngine>,
    owner: &str,
    id: &str,
    spec: &SandboxSpec,
) -> Result<Option<(ContainerHandle, ContainerInspectResponse, Option<i128>)>, SandboxError> {
    let failed = |error| engine.failed("find a container", error);
    let options = ListContainersOptions {
        all: true,
        filters: Some(filter(SANDBOX, id)),
        ..ListContainersOptions::default()
    };
    let found = engine.docker.list_containers(Some(options)).await.map_err(failed)?;
    let is_ours = |labels: &std::collections::HashMap<String, String>| {
        labels.get(OWNER).is_some_and(|found| found == owner)
    };
    let ours = found.into_iter().find(|container| container.labels.as_ref().is_some_and(is_ours));
    let Some(container) = ours.and_then(|container| container.id) else { return Ok(None) };
    let inspected = engine.docker.inspect_container(&container, None).await.map_err(failed)?;
    let state = inspected.state.clone().unwrap_or_default();
    let since = inspected.name.as_deref().and_then(parse_since);
    let handle = ContainerHandle {
        engine: Arc::clone(engine),
        id: id.to_owned(),
        container,
        user: user_text(spec.user),
        is_destroyed: AtomicBool::new(false),
        is_paused: AtomicBool::new(state.paused == Some(true)),
    };
    Ok(Some((handle, inspected, since)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_time_round_trips_through_the_name() {
        assert_eq!(
            parse_since(&name_of("sb-1", Some(1_700_000_000_123_456_789))),
            Some(1_700_000_000_123_456_789)
        );
        assert_eq!(parse_since(&name_of("sb-1", None)), None);
    }
}
