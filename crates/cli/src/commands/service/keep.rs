//! `menace __keep`: holds sandboxes until nobody needs that any more.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use menace_model::sandbox::SandboxSpec;
use menace_model::settings::{DockerSettings, PoolSettings};
use menace_sandbox::docker::{DockerBackend, PoolObserver, PoolOptions};
use menace_sandbox::native::{NativeBackend, NativeOptions};
use menace_sandbox::{Backend, SandboxError};
use menace_server::cleanup::CleanupOptions;
use menace_server::daemon::{DaemonEndpoint, DaemonOptions, run_daemon};
use menace_server::sandboxes::{
    BackendName, BackendStarter, CreateSandboxRequest, RunningBackends, SandboxRecords, ServiceLimits,
};

use crate::arguments::SandboxDaemonArguments;
use crate::commands::resources::overlays;
use crate::commands::up::dispatcher;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use menace_app::calling::{container_user, docker_options, runtime};

/// How long it stays without sandboxes and without anybody who asks: longer than a server takes to be started again.
const LINGER: Duration = Duration::from_secs(15);

pub(in crate::commands) fn run(
    configuration: &Configuration,
    arguments: &SandboxDaemonArguments,
) -> anyhow::Result<MenaceExit> {
    // Neither Ctrl-C in the terminal of who started it nor the end of that terminal are meant for it. Who is the leader of its
    // session already was started by hand.
    let _ = rustix::process::setsid();
    let data = configuration.data_directory();
    std::fs::create_dir_all(&data).with_context(|| format!("failed to make {}", data.display()))?;
    let place = DaemonEndpoint::of(&data).with_context(|| format!("failed to use {}", data.display()))?;
    let settings = configuration.settings();
    let backend: BackendName = arguments.backend.into();
    let pool = pool_options(&settings.pool, &settings.docker, &data, backend)?;
    let has_left_containers = pool.active.as_ref().is_some_and(|path| path.exists());
    let at_start = (backend == BackendName::Docker || has_left_containers).then_some(BackendName::Docker);
    let container_disk = Some(settings.docker.container_disk_limit.0).filter(|limit| *limit > 0);
    let container_user = container_user(&settings.docker)?;
    let cleaning = CleanupOptions {
        interval: settings.pool.pool_cleanup_interval,
        check: settings.pool.worker_check_interval,
        at_start: at_start.into_iter().collect(),
        overlays: Some(overlays(configuration)),
    };
    let machine =
        LocalBackendStarter { owner: place.name().to_owned(), docker: settings.docker.clone(), pool };
    let holding = DaemonOptions {
        backends: RunningBackends::new(Box::new(machine), backend),
        limits: ServiceLimits {
            sandboxes: arguments.max_sandboxes,
            lifetime: arguments.max_lifetime,
            idle: arguments.idle_timeout,
            container_user,
            container_disk,
        },
        records: SandboxRecords::new(data.join("sandboxes")),
        cleaning,
        alerts: dispatcher(configuration),
        linger: LINGER,
        place,
    };
    runtime()?.block_on(async {
        run_daemon(holding).await.context("failed to hold sandboxes")?;
        Ok(MenaceExit::Done)
    })
}

/// How containers wait. Where the service makes containers, those of its usual kind wait before anybody has asked.
fn pool_options(
    pool: &PoolSettings,
    docker: &DockerSettings,
    data: &Path,
    backend: BackendName,
) -> anyhow::Result<PoolOptions> {
    let data = std::path::absolute(data)?;
    let at = |named: &Option<PathBuf>, usual: &str| Some(named.clone().unwrap_or_else(|| data.join(usual)));
    let usual = SandboxSpec {
        user: container_user(docker)?.unwrap_or_default(),
        ..CreateSandboxRequest::default().spec()
    };
    Ok(PoolOptions {
        size: pool.pool_size,
        label: pool.pool_label.clone(),
        most: if pool.max_container_count == 0 { usize::MAX } else { pool.max_container_count },
        idle: pool.container_idle_timeout,
        lifetime: pool.container_max_lifetime,
        disk: docker.container_disk_limit.0,
        fail_threshold: pool.pool_fail_threshold,
        alert_threshold: pool.cleanup_alert_threshold,
        lock: at(&pool.pool_lock, "pool.lock"),
        failures: Some(data.join("pool_failures.json")),
        active: at(&pool.active_containers, "active_containers.json"),
        usual: (backend == BackendName::Docker).then_some(usual),
    })
}

/// Backends of this machine.
struct LocalBackendStarter {
    /// Whose containers they are: those of this data directory.
    owner: String,
    docker: DockerSettings,
    pool: PoolOptions,
}

#[async_trait]
impl BackendStarter for LocalBackendStarter {
    async fn start(
        &self,
        name: BackendName,
        observer: Arc<dyn PoolObserver>,
    ) -> Result<Arc<dyn Backend>, SandboxError> {
        match name {
            BackendName::Native => {
                let backend = NativeBackend::start(&NativeOptions::default()).await?;
                Ok(Arc::new(backend))
            }
            BackendName::Docker => {
                let options = docker_options(&self.docker, &self.owner);
                let pool = self.pool.clone();
                Ok(Arc::new(DockerBackend::connect_with_pool(&options, pool, observer).await?))
            }
        }
    }
}
