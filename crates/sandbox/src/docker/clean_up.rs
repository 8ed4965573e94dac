//! Clean-up of an owner's stale Docker resources.

use std::collections::BTreeSet;

use bollard::query_parameters::{ListContainersOptions, ListNetworksOptions, ListVolumesOptions};
use serde::Serialize;

use super::engine::{DockerEngine, is_missing};
use super::janitor::{remove_container, remove_volume};
use super::labels::{OWNER, StalenessCriteria, filter};
use super::options::DockerOptions;
use crate::SandboxError;

/// Docker resources that were or could be removed, by their ids in the engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DockerCleanUp {
    /// Container ids.
    pub containers: Vec<String>,
    /// Volume names.
    pub volumes: Vec<String>,
    /// Network ids.
    pub networks: Vec<String>,
    /// Failed removals with their reasons.
    pub problems: Vec<String>,
}

/// Removes resources of the owner in the options that ended processes created, except the sandboxes in `keep`, which
/// are to be adopted. Resources without both of menace's labels are not touched.
pub async fn clean_up(
    options: &DockerOptions,
    keep: &BTreeSet<String>,
) -> Result<DockerCleanUp, SandboxError> {
    let engine = DockerEngine::connect(options).await?;
    let unlisted = BTreeSet::new();
    let stale = StalenessCriteria { owner: &options.owner, keep, listed: &unlisted, lifetime: None };
    remove_stale(&engine, &stale).await
}

/// Resources of an owner: those that [`clean_up`] would remove, and those that it would leave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DockerInventory {
    /// Resources that would be removed.
    pub stale: DockerCleanUp,
    /// Resources that would stay.
    pub in_use: DockerCleanUp,
}

/// Lists the resources of an owner without removing any.
pub async fn list_resources(
    options: &DockerOptions,
    keep: &BTreeSet<String>,
) -> Result<DockerInventory, SandboxError> {
    let engine = DockerEngine::connect(options).await?;
    let unlisted = BTreeSet::new();
    let stale = StalenessCriteria { owner: &options.owner, keep, listed: &unlisted, lifetime: None };
    let mut found = DockerInventory::default();
    for (kind, name, is_stale) in list(&engine, &stale).await? {
        let side = if is_stale { &mut found.stale } else { &mut found.in_use };
        side.add(kind, name);
    }
    Ok(found)
}

/// Removes stale resources. A failed removal does not prevent the others.
pub(super) async fn remove_stale(
    engine: &DockerEngine,
    stale: &StalenessCriteria<'_>,
) -> Result<DockerCleanUp, SandboxError> {
    let mut done = DockerCleanUp::default();
    for (kind, name, is_stale) in list(engine, stale).await? {
        if !is_stale {
            continue;
        }
        match remove(engine, kind, &name).await {
            Ok(()) => done.add(kind, name),
            Err(error) => done.problems.push(format!("{name} could not be removed: {error}")),
        }
    }
    Ok(done)
}

#[derive(Debug, Clone, Copy)]
enum DockerResourceKind {
    Container,
    Volume,
    Network,
}

impl DockerCleanUp {
    fn add(&mut self, kind: DockerResourceKind, name: String) {
        match kind {
            DockerResourceKind::Container => self.containers.push(name),
            DockerResourceKind::Volume => self.volumes.push(name),
            DockerResourceKind::Network => self.networks.push(name),
        }
    }
}

/// Lists all resources of an owner with whether they are stale; containers first, because they hold the others.
async fn list(
    engine: &DockerEngine,
    stale: &StalenessCriteria<'_>,
) -> Result<Vec<(DockerResourceKind, String, bool)>, SandboxError> {
    let failed = |error| engine.failed("list stale resources", error);
    let filters = Some(filter(OWNER, stale.owner));
    let mut found = Vec::new();
    let containers =
        ListContainersOptions { all: true, filters: filters.clone(), ..ListContainersOptions::default() };
    for container in engine.docker.list_containers(Some(containers)).await.map_err(failed)? {
        if let (Some(id), Some(labels)) = (container.id, container.labels) {
            found.push((DockerResourceKind::Container, id, stale.is_stale(&labels)));
        }
    }
    let volumes = ListVolumesOptions { filters: filters.clone() };
    let volumes = engine.docker.list_volumes(Some(volumes)).await.map_err(failed)?.volumes;
    for volume in volumes.unwrap_or_default() {
        let is_stale = stale.is_stale(&volume.labels);
        found.push((DockerResourceKind::Volume, volume.name, is_stale));
    }
    let networks = ListNetworksOptions { filters };
    for network in engine.docker.list_networks(Some(networks)).await.map_err(failed)? {
        if let (Some(id), Some(labels)) = (network.id, network.labels) {
            found.push((DockerResourceKind::Network, id, stale.is_stale(&labels)));
        }
    }
    Ok(found)
}

async fn remove(engine: &DockerEngine, kind: DockerResourceKind, name: &str) -> Result<(), SandboxError> {
    let removed = match kind {
        DockerResourceKind::Container => remove_container(&engine.docker, name).await,
        DockerResourceKind::Volume => remove_volume(&engine.docker, name).await,
        DockerResourceKind::Network => match engine.docker.remove_network(name).await {
            Err(error) if is_missing(&error) => Ok(()),
            result => result,
        },
    };
    removed.map_err(|error| engine.failed("remove a stale resource", error))
}
