//! The Docker engine, which may be there or not.

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

/// What came of asking an engine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase", tag = "engine")]
pub(super) enum DockerEngineAnswer<T> {
    /// It answered.
    Answered(T),
    /// Nobody wanted one, and there is none.
    None,
    /// One is wanted, and does not answer.
    Silent {
        /// Why.
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

/// Removes what nobody needs.
pub(super) async fn remove(
    configuration: &Configuration,
    keep: &BTreeSet<String>,
) -> anyhow::Result<DockerEngineAnswer<DockerCleanUp>> {
    let options = options(configuration)?;
    // Whoever else cleans up or fills the pool is not to meet us.
    let _lock = pool_lock(configuration).map(|path| lock_pool(&path)).transpose()?;
    Ok(judge(configuration, &options, clean_up(&options, keep).await))
}

/// Looks at what there is.
pub(super) async fn look(
    configuration: &Configuration,
    keep: &BTreeSet<String>,
) -> anyhow::Result<DockerEngineAnswer<DockerInventory>> {
    let options = options(configuration)?;
    Ok(judge(configuration, &options, list_resources(&options, keep).await))
}

fn pool_lock(configuration: &Configuration) -> Option<PathBuf> {
    let data = configuration.data_directory();
    let usual = data.is_dir().then(|| data.join("pool.lock"));
    configuration.settings().pool.pool_lock.clone().or(usual)
}

fn options(configuration: &Configuration) -> anyhow::Result<DockerOptions> {
    let data = configuration.data_directory();
    // Nothing belongs to a data directory that is not there.
    let owner =
        if data.is_dir() { DaemonEndpoint::of(&data)?.name().to_owned() } else { "nobody".to_owned() };
    Ok(docker_options(&configuration.settings().docker, &owner))
}

fn judge<T>(
    configuration: &Configuration,
    options: &DockerOptions,
    asked: Result<T, SandboxError>,
) -> DockerEngineAnswer<T> {
    match asked {
        Ok(answer) => DockerEngineAnswer::Answered(answer),
        Err(error) if is_wanted(configuration) => {
            let problem = error.to_string();
            tracing::error!("{problem}");
            DockerEngineAnswer::Silent { problem }
        }
        Err(_) => {
            note(&format!("no Docker engine at {}, so there is nothing of one", options.host));
            DockerEngineAnswer::None
        }
    }
}

/// Whether somebody has said that there is an engine.
fn is_wanted(configuration: &Configuration) -> bool {
    let docker = &configuration.settings().docker;
    docker.docker_host.is_some() || docker.backend == BackendSetting::Docker
}
