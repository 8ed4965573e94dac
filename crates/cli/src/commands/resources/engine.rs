//! The Docker engine, if there is one.

use std::collections::BTreeSet;
use std::path::PathBuf;

use menace_model::settings::BackendSetting;
use menace_sandbox::SandboxError;
use menace_sandbox::docker::{
    DockerCleanUp, DockerInventory, DockerOptions, clean_up, list_resources, lock_pool,
};
use menace_server::daemon::DaemonEndpoint;
use serde::Serialize;

use crate::configuration::Configuration;
use crate::terminal::note;
use menace_app::calling::docker_options;

/// Answer of the engine to a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase", tag = "engine")]
pub(super) enum DockerEngineAnswer<T> {
    /// The engine answered.
    Answered(T),
    /// No engine is configured, and none answers at the default address.
    None,
    /// An engine is configured and does not answer.
    Silent {
        /// Error of the request.
        problem: String,
    },
}

impl<T> DockerEngineAnswer<T> {
    pub(super) fn answer(&self) -> Option<&T> {
        match self {
            Self::Answered(answer) => Some(answer),
            Self::None | Self::Silent { .. } => None,
        }
    }

    pub(super) fn is_silent(&self) -> bool {
        matches!(self, Self::Silent { .. })
    }
}

/// Removes stale containers, volumes and networks.
pub(super) async fn remove(
    configuration: &Configuration,
    keep: &BTreeSet<String>,
) -> anyhow::Result<DockerEngineAnswer<DockerCleanUp>> {
    let options = options(configuration)?;
    // Excludes concurrent clean-ups and pool refills.
    let _lock = pool_lock(configuration).map(|path| lock_pool(&path)).transpose()?;
    Ok(judge(configuration, &options, clean_up(&options, keep).await))
}

/// Lists containers, volumes and networks.
pub(super) async fn look(
    configuration: &Configuration,
    keep: &BTreeSet<String>,
) -> anyhow::Result<DockerEngineAnswer<DockerInventory>> {
    let options = options(configuration)?;
    Ok(judge(configuration, &options, list_resources(&options, keep).await))
}

fn pool_lock(configuration: &Configuration) -> Option<PathBuf> {
    let data = configuration.data_directory();
    let default_lock = data.is_dir().then(|| data.join("pool.lock"));
    configuration.settings().pool.pool_lock.clone().or(default_lock)
}

fn options(configuration: &Configuration) -> anyhow::Result<DockerOptions> {
    let data = configuration.data_directory();
    // A data directory that does not exist owns nothing.
    let owner =
        if data.is_dir() { DaemonEndpoint::of(&data)?.name().to_owned() } else { "nobody".to_owned() };
    Ok(docker_options(&configuration.settings().docker, &owner))
}

fn judge<T>(
    configuration: &Configuration,
    options: &DockerOptions,
    result: Result<T, SandboxError>,
) -> DockerEngineAnswer<T> {
    match result {
        Ok(answer) => DockerEngineAnswer::Answered(answer),
        Err(error) if is_configured(configuration) => {
            let problem = error.to_string();
            tracing::error!("{problem}");
            DockerEngineAnswer::Silent { problem }
        }
        Err(_) => {
            note(&format!(
                "no Docker engine at {}; skipped its containers, volumes and networks",
                options.host
            ));
            DockerEngineAnswer::None
        }
    }
}

/// Whether the settings name an engine or the docker backend.
fn is_configured(configuration: &Configuration) -> bool {
    let docker = &configuration.settings().docker;
    docker.docker_host.is_some() || docker.backend == BackendSetting::Docker
}
