//! `menace __keep`: holds sandboxes until nobody needs that any more.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use menace_model::settings::DockerSettings;
use menace_sandbox::docker::DockerBackend;
use menace_sandbox::native::{NativeBackend, NativeOptions};
use menace_sandbox::{Backend, SandboxError};
use menace_server::keeper::{Holding, Place, hold};
use menace_server::sandboxes::{BackendName, Backends, Records, ServiceLimits, Starter};

use crate::arguments::Keep;
use crate::calling::{docker_options, runtime};
use crate::configuration::Configuration;
use crate::exit::Exit;

/// How long it stays without sandboxes and without anybody who asks: longer than a server takes to be started again.
const LINGER: Duration = Duration::from_secs(15);

pub(in crate::commands) fn run(configuration: &Configuration, arguments: &Keep) -> anyhow::Result<Exit> {
    // Neither Ctrl-C in the terminal of who started it nor the end of that terminal are meant for it. Who is the leader of its
    // session already was started by hand.
    let _ = rustix::process::setsid();
    let data = configuration.data_directory();
    std::fs::create_dir_all(&data).with_context(|| format!("failed to make {}", data.display()))?;
    let place = Place::of(&data).with_context(|| format!("failed to use {}", data.display()))?;
    let machine =
        OnThisMachine { owner: place.name().to_owned(), docker: configuration.settings().docker.clone() };
    let holding = Holding {
        backends: Backends::new(Box::new(machine), arguments.backend.into()),
        limits: ServiceLimits {
            sandboxes: arguments.max_sandboxes,
            lifetime: arguments.max_lifetime,
            idle: arguments.idle_timeout,
        },
        records: Records::new(data.join("sandboxes")),
        linger: LINGER,
        place,
    };
    runtime()?.block_on(async {
        hold(holding).await.context("failed to hold sandboxes")?;
        Ok(Exit::Done)
    })
}

/// Backends of this machine.
struct OnThisMachine {
    /// Whose containers they are: those of this data directory.
    owner: String,
    docker: DockerSettings,
}

#[async_trait]
impl Starter for OnThisMachine {
    async fn start(&self, name: BackendName) -> Result<Arc<dyn Backend>, SandboxError> {
        match name {
            BackendName::Native => {
                let backend = NativeBackend::start(&NativeOptions::default()).await?;
                Ok(Arc::new(backend))
            }
            BackendName::Docker => {
                let options = docker_options(&self.docker, &self.owner);
                Ok(Arc::new(DockerBackend::connect(&options).await?))
            }
        }
    }
}
