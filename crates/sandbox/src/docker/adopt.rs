//! Finds the container of a sandbox that an earlier process made.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::ListContainersOptions;
use menace_model::sandbox::SandboxSpec;

use super::configuration::user_text;
use super::engine::Engine;
use super::handle::Handle;
use super::labels::{OWNER, SANDBOX, filter};
use crate::SandboxError;

/// What all containers of ours are called first.
const PREFIX: &str = "menace-";

/// The name of the container of a sandbox, with the moment since which its files have changed.
pub(super) fn name_of(id: &str, since: Option<i128>) -> String {
    match since {
        None => format!("{PREFIX}{id}"),
        Some(since) => format!("{PREFIX}{id}.{since}"),
    }
}

fn since_of(name: &str) -> Option<i128> {
    name.rsplit_once('.')?.1.parse().ok()
}

/// The container of a sandbox of this owner, in whatever state it is, and the moment in its name. Nothing if there is none.
pub(super) async fn find(
    engine: &Arc<Engine>,
    owner: &str,
    id: &str,
    spec: &SandboxSpec,
) -> Result<Option<(Handle, ContainerInspectResponse, Option<i128>)>, SandboxError> {
    let failed = |error| engine.failed("look for a container", error);
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
    let since = inspected.name.as_deref().and_then(since_of);
    let handle = Handle {
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
    fn the_moment_is_found_in_the_name() {
        assert_eq!(
            since_of(&name_of("sb-1", Some(1_700_000_000_123_456_789))),
            Some(1_700_000_000_123_456_789)
        );
        assert_eq!(since_of(&name_of("sb-1", None)), None);
    }
}
