//! Clean-up of an owner's stale Docker resources.

use std::collections::BTreeSet;

use bollard::query_parameters::{ListContainersOptions, ListNetworksOptions, ListVolumesOptions};
use serde::Serialize;

use super::engine::{Engine, is_missing};
use super::janitor::{remove_container, remove_volume};
use super::labels::{OWNER, Stale, filter};
use super::options::DockerOptions;
use crate::SandboxError;

/// Docker resources that were or could be removed, by their ids in the engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CleanUp {
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
pub async fn clean_up(options: &DockerOptions, keep: &BTreeSet<String>) -> Result<CleanUp, SandboxError> {
    let engine = Engine::connect(options).await?;
    let unlisted = BTreeSet::new();
    let stale = Stale { owner: &options.owner, keep, listed: &unlisted, lifetime: None };
    remove_stale(&engine, &stale).await
}

/// Resources of an owner: those that [`clean_up`] would remove, and those that it would leave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Inventory {
    /// Resources that would be removed.
    pub stale: CleanUp,
    /// Resources that would stay.
    pub in_use: CleanUp,
}

/// Lists the resources of an owner without removing any.
pub async fn look_around(
    options: &DockerOptions,
    keep: &BTreeSet<String>,
) -> Result<Inventory, SandboxError> {
    let engine = Engine::connect(options).await?;
    let unlisted = BTreeSet::new();
    let stale = Stale { owner: &options.owner, keep, listed: &unlisted, lifetime: None };
    let mut found = Inventory::default();
    for (kind, name, is_stale) in list(&engine, &stale).await? {
        let side = if is_stale { &mut found.stale } else { &mut found.in_use };
        side.add(kind, name);
    }
    Ok(found)
}

/// Removes stale resources. A failed removal does not prevent the others.
pub(super) async fn remove_stale(engine: &Engine, stale: &Stale<'_>) -> Result<CleanUp, SandboxError> {
    let mut done = CleanUp::default();
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
enum Kind {
    Container,
    Volume,
    Network,
}

impl CleanUp {
    fn add(&mut self, kind: Kind, name: String) {
        match kind {
            Kind::Container => self.containers.push(name),
            Kind::Volume => self.volumes.push(name),
            Kind::Network => self.networks.push(name),
        }
    }
}

/// Lists all resources of an owner with whether they are stale; containers first, because they hold the others.
async fn list(engine: &Engine, stale: &Stale<'_>) -> Result<Vec<(Kind, String, bool)>, SandboxError> {
    let failed = |error| engine.failed("list stale resources", error);
    let filters = Some(filter(OWNER, stale.owner));
    let mut found = Vec::new();
    let containers =
        ListContainersOptions { all: true, filters: filters.clone(), ..ListContainersOptions::default() };
    for container in engine.docker.list_containers(Some(containers)).await.map_err(failed)? {
        if let (Some(id), Some(labels)) = (container.id, container.labels) {
            found.push((Kind::Container, id, stale.is_stale(&labels)));
        }
    }
    let volumes = ListVolumesOptions { filters: filters.clone() };
    let volumes = engine.docker.list_volumes(Some(volumes)).await.map_err(failed)?.volumes;
    for volume in volumes.unwrap_or_default() {
        let is_stale = stale.is_stale(&volume.labels);
        found.push((Kind::Volume, volume.name, is_stale));
    }
    let networks = ListNetworksOptions { filters };
    for network in engine.docker.list_networks(Some(networks)).await.map_err(failed)? {
        if let (Some(id), Some(labels)) = (network.id, network.labels) {
            found.push((Kind::Network, id, stale.is_stale(&labels)));
        }
    }
    Ok(found)
}

async fn remove(engine: &Engine, kind: Kind, name: &str) -> Result<(), SandboxError> {
    let removed = match kind {
        Kind::Container => remove_container(&engine.docker, name).await,
        Kind::Volume => remove_volume(&engine.docker, name).await,
        Kind::Network => match engine.docker.remove_network(name).await {
            Err(error) if is_missing(&error) => Ok(()),
            result => result,
        },
    };
    removed.map_err(|error| engine.failed("remove a stale resource", error))
}
