//! `menace __keep`: the sandbox daemon, which owns sandboxes until it has been unused for a while.

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

/// Time after which a daemon without sandboxes and requests exits: longer than the restart of a server takes.
const LINGER: Duration = Duration::from_secs(15);

pub(in crate::commands) fn run(
    configuration: &Configuration,
    arguments: &SandboxDaemonArguments,
) -> anyhow::Result<MenaceExit> {
    // A Ctrl-C in the terminal of the starting process, or the end of that terminal, must not stop the daemon. The call
    // fails for a session leader, which was started by hand.
    let _ = rustix::process::setsid();
    let data = configuration.data_directory();
    std::fs::create_dir_all(&data).with_context(|| format!("failed to create {}", data.display()))?;
    let endpoint = DaemonEndpoint::of(&data).with_context(|| format!("failed to use {}", data.display()))?;
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
    let starter =
        LocalBackendStarter { owner: endpoint.name().to_owned(), docker: settings.docker.clone(), pool };
    let options = DaemonOptions {
        backends: RunningBackends::new(Box::new(starter), backend),
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
        place: endpoint,
    };
    runtime()?.block_on(async {
        run_daemon(options).await.context("the sandbox daemon failed")?;
        Ok(MenaceExit::Done)
    })
}

/// Options of the container pool. If docker is the default backend, default containers are started in advance.
fn pool_options(
    pool: &PoolSettings,
    docker: &DockerSettings,
    data: &Path,
    backend: BackendName,
) -> anyhow::Result<PoolOptions> {
    let data = std::path::absolute(data)?;
    let at = |path: &Option<PathBuf>, default: &str| Some(path.clone().unwrap_or_else(|| data.join(default)));
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

/// Starter of the backends of this machine.
struct LocalBackendStarter {
    /// Owner of the containers: the name of the data directory's endpoint.
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
