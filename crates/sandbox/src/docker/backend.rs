//! Docker backend: sandboxes in containers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use menace_guest::protocol::GuestRequest;
use menace_model::sandbox::{BackendCapabilities, SandboxSpec};

use super::adopt;
use super::blocking_file::BlockingFile;
use super::capabilities::capabilities;
use super::container::{ContainerFactory, StartedContainer, new_id};
use super::engine::DockerEngine;
use super::guest_requests::{send_order, unpack};
use super::janitor::ContainerJanitor;
use super::options::DockerOptions;
use super::pool::{ContainerPool, PoolObserver, PoolOptions};
use super::sandbox::DockerSandbox;
use crate::environment::{BaseEnvironment, PATH};
use crate::{Backend, Sandbox, SandboxError, SandboxSnapshot};

/// Architecture of the embedded guest program.
const ARCHITECTURE: &str = std::env::consts::ARCH;

/// Kernel name of an architecture. Docker reports `x86_64`, Podman `amd64`.
fn kernel_architecture(architecture: &str) -> &str {
    match architecture {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}

/// Backend that runs sandboxes as containers of one engine.
pub struct DockerBackend {
    maker: ContainerFactory,
    pool: Option<Arc<ContainerPool>>,
}

impl DockerBackend {
    /// Connects to an engine. Fails if it does not answer or cannot run menace's guest program.
    pub async fn connect(options: &DockerOptions) -> Result<Self, SandboxError> {
        let engine = DockerEngine::connect(options).await?;
        let architecture = engine.info.architecture.clone().unwrap_or_default();
        if kernel_architecture(&architecture) != ARCHITECTURE {
            return Err(SandboxError::Refused {
                problem: format!(
                    "the engine runs on {architecture}, but menace was built for {ARCHITECTURE}"
                ),
                hint: "use a menace binary for the engine's architecture".into(),
            });
        }
        let janitor = ContainerJanitor::start(options)?;
        let maker = ContainerFactory {
            engine: Arc::new(engine),
            janitor,
            owner: options.owner.clone(),
            default_image: options.image.clone(),
        };
        Ok(Self { maker, pool: None })
    }

    /// Connects to an engine and opens a pool of warm containers. Stale containers of this owner are removed first.
    pub async fn connect_with_pool(
        options: &DockerOptions,
        pool: PoolOptions,
        observer: Arc<dyn PoolObserver>,
    ) -> Result<Self, SandboxError> {
        let Self { maker, .. } = &Self::connect(options).await?;
        let pool = ContainerPool::open(pool, maker.clone(), observer).await?;
        Ok(Self { maker: maker.clone(), pool: Some(pool) })
    }

    async fn make(&self, mut spec: SandboxSpec) -> Result<DockerSandbox, SandboxError> {
        let image = self.maker.check(&mut spec).await?;
        let (made, member) = match &self.pool {
            None => (self.maker.make(&spec, &image, &new_id(), None).await?, None),
            Some(pool) => {
                let given = pool.allocate(&spec, &image).await?;
                (given.made, Some(given.member))
            }
        };
        let environment = environment(&image.environment);
        Ok(DockerSandbox::new(made, spec, environment, Arc::clone(&self.maker.janitor), member))
    }
}

impl Drop for DockerBackend {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.drop_all();
        }
    }
}

#[async_trait]
impl Backend for DockerBackend {
    fn capabilities(&self) -> BackendCapabilities {
        capabilities(&self.maker.engine)
    }

    async fn create(&self, spec: SandboxSpec) -> Result<Arc<dyn Sandbox>, SandboxError> {
        Ok(Arc::new(self.make(spec).await?))
    }

    async fn fork(&self, snapshot: &SandboxSnapshot) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let sandbox = self.make(snapshot.spec.clone()).await?;
        let restored = restore(&sandbox, snapshot).await;
        if let Err(error) = restored {
            sandbox.destroy().await?;
            return Err(error);
        }
        Ok(Arc::new(sandbox))
    }

    async fn adopt(&self, id: &str, spec: &SandboxSpec) -> Result<Option<Arc<dyn Sandbox>>, SandboxError> {
        let found = adopt::find(&self.maker.engine, &self.maker.owner, id, spec).await?;
        let Some((handle, inspected, since)) = found else { return Ok(None) };
        let variables = inspected.config.and_then(|config| config.env).unwrap_or_default();
        let member = self.pool.as_ref().map(|pool| pool.register_adopted(&handle));
        let made = StartedContainer { handle: Arc::new(handle), since };
        let janitor = Arc::clone(&self.maker.janitor);
        let sandbox = DockerSandbox::new(made, spec.clone(), environment(&variables), janitor, member);
        Ok(Some(Arc::new(sandbox)))
    }

    async fn remove_expired(&self) -> Result<(), SandboxError> {
        match &self.pool {
            None => Ok(()),
            Some(pool) => pool.remove_expired().await,
        }
    }

    async fn remove_stale(&self) -> Result<(), SandboxError> {
        match &self.pool {
            None => Ok(()),
            Some(pool) => pool.remove_stale().await,
        }
    }

    async fn shut_down(&self) {
        if let Some(pool) = &self.pool {
            pool.close().await;
        }
    }
}

async fn restore(sandbox: &DockerSandbox, snapshot: &SandboxSnapshot) -> Result<(), SandboxError> {
    let root = Path::new("/");
    if !snapshot.removed.is_empty() {
        let order = GuestRequest::Remove { paths: snapshot.removed.clone() };
        send_order(&sandbox.handle, &order, "remove files in", root).await?;
    }
    let archive = std::fs::File::open(&*snapshot.archive).map_err(SandboxError::io("open a snapshot"))?;
    unpack(&sandbox.handle, root, &mut BlockingFile(archive)).await.map(drop)
}

/// Standard variables plus those that the image defines.
fn environment(image_variables: &[String]) -> BaseEnvironment {
    let mut variables: BTreeMap<String, String> = image_variables
        .iter()
        .filter_map(|variable| variable.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let path = variables.remove("PATH").unwrap_or_else(|| PATH.to_owned());
    BaseEnvironment::new(&path, &variables)
}

#[cfg(test)]
mod tests {
    use super::kernel_architecture;

    #[test]
    fn architecture_names_of_go_are_recognised() {
        assert_eq!([kernel_architecture("amd64"), kernel_architecture("arm64")], ["x86_64", "aarch64"]);
        assert_eq!([kernel_architecture("x86_64"), kernel_architecture("riscv64")], ["x86_64", "riscv64"]);
    }
}
