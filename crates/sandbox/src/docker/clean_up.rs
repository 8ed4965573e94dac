//! Removes what processes of an owner left that are gone.

use std::collections::{BTreeSet, HashMap};

use bollard::query_parameters::{ListContainersOptions, ListNetworksOptions, ListVolumesOptions};

use super::engine::{Engine, is_missing};
use super::janitor::{remove_container, remove_volume};
use super::labels::{OWNER, SANDBOX, filter, maker_is_gone};
use super::options::DockerOptions;
use crate::SandboxError;

/// What was removed, by the names that the engine has for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanUp {
    /// Containers.
    pub containers: Vec<String>,
    /// Volumes.
    pub volumes: Vec<String>,
    /// Networks.
    pub networks: Vec<String>,
}

/// Removes what belongs to the owner of the options and was made by processes that are gone, but for sandboxes that somebody
/// wants to keep, to take them over. What has not both labels of ours is not touched.
pub async fn clean_up(options: &DockerOptions, keep: &BTreeSet<String>) -> Result<CleanUp, SandboxError> {
    let engine = Engine::connect(options).await?;
    let failed = |error| engine.failed("remove what was left behind", error);
    let filters = Some(filter(OWNER, &options.owner));
    let is_left = |labels: &HashMap<String, String>| {
        labels.get(OWNER) == Some(&options.owner)
            && labels.get(SANDBOX).is_some_and(|id| !keep.contains(id))
            && maker_is_gone(labels)
    };
    let mut done = CleanUp::default();
    let containers =
        ListContainersOptions { all: true, filters: filters.clone(), ..ListContainersOptions::default() };
    for container in engine.docker.list_containers(Some(containers)).await.map_err(failed)? {
        if let (Some(id), Some(labels)) = (container.id, container.labels)
            && is_left(&labels)
        {
            remove_container(&engine.docker, &id).await.map_err(failed)?;
            done.containers.push(id);
        }
    }
    let volumes = ListVolumesOptions { filters: filters.clone() };
    let volumes = engine.docker.list_volumes(Some(volumes)).await.map_err(failed)?.volumes;
    for volume in volumes.unwrap_or_default() {
        if is_left(&volume.labels) {
            remove_volume(&engine.docker, &volume.name).await.map_err(failed)?;
            done.volumes.push(volume.name);
        }
    }
    let networks = ListNetworksOptions { filters };
    for network in engine.docker.list_networks(Some(networks)).await.map_err(failed)? {
        if let (Some(id), Some(labels)) = (network.id, network.labels)
            && is_left(&labels)
        {
            match engine.docker.remove_network(&id).await {
                Err(error) if !is_missing(&error) => return Err(failed(error)),
                _ => done.networks.push(id),
            }
        }
    }
    Ok(done)
}
