//! Makes sandboxes of containers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use menace_inside::protocol::Order;
use menace_model::sandbox::{Capabilities, SandboxSpec};

use super::adopt;
use super::blocking::Blocking;
use super::capabilities::capabilities;
use super::container::Maker;
use super::engine::Engine;
use super::janitor::Janitor;
use super::options::DockerOptions;
use super::sandbox::DockerSandbox;
use super::work::{ask, unpack};
use crate::environment::{BaseEnvironment, PATH};
use crate::{Backend, Sandbox, SandboxError, Snapshot};

/// The program inside is one of this machine.
const ARCHITECTURE: &str = std::env::consts::ARCH;

/// Containers of one engine.
pub struct DockerBackend {
    options: DockerOptions,
    engine: Arc<Engine>,
    janitor: Arc<Janitor>,
}

impl DockerBackend {
    /// Connects to an engine. It is an error if none answers, or if it cannot run what menace brings.
    pub async fn connect(options: &DockerOptions) -> Result<Self, SandboxError> {
        let engine = Engine::connect(options).await?;
        let architecture = engine.info.architecture.clone().unwrap_or_default();
        if architecture != ARCHITECTURE {
            return Err(SandboxError::Refused {
                problem: format!(
                    "the engine's machine is {architecture}, and menace was built for {ARCHITECTURE}"
                ),
                hint: "use a menace that was built for the engine's machine".into(),
            });
        }
        let janitor = Janitor::start(options)?;
        Ok(Self { options: options.clone(), engine: Arc::new(engine), janitor })
    }

    fn maker(&self) -> Maker<'_> {
        Maker {
            engine: &self.engine,
            janitor: &self.janitor,
            owner: &self.options.owner,
            default_image: &self.options.image,
        }
    }

    async fn make(&self, spec: SandboxSpec) -> Result<DockerSandbox, SandboxError> {
        let made = self.maker().make(spec).await?;
        let environment = environment(&made.environment);
        Ok(DockerSandbox::new(made.handle, made.spec, environment, made.since, Arc::clone(&self.janitor)))
    }
}

#[async_trait]
impl Backend for DockerBackend {
    fn capabilities(&self) -> Capabilities {
        capabilities(&self.engine)
    }

    async fn create(&self, spec: SandboxSpec) -> Result<Arc<dyn Sandbox>, SandboxError> {
        Ok(Arc::new(self.make(spec).await?))
    }

    async fn fork(&self, snapshot: &Snapshot) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let sandbox = self.make(snapshot.spec.clone()).await?;
        let restored = restore(&sandbox, snapshot).await;
        if let Err(error) = restored {
            sandbox.destroy().await?;
            return Err(error);
        }
        Ok(Arc::new(sandbox))
    }

    async fn adopt(&self, id: &str, spec: &SandboxSpec) -> Result<Option<Arc<dyn Sandbox>>, SandboxError> {
        let found = adopt::find(&self.engine, &self.options.owner, id, spec).await?;
        let Some((handle, inspected, since)) = found else { return Ok(None) };
        let variables = inspected.config.and_then(|config| config.env).unwrap_or_default();
        let environment = environment(&variables);
        let janitor = Arc::clone(&self.janitor);
        Ok(Some(Arc::new(DockerSandbox::new(handle, spec.clone(), environment, since, janitor))))
    }
}

async fn restore(sandbox: &DockerSandbox, snapshot: &Snapshot) -> Result<(), SandboxError> {
    let root = Path::new("/");
    if !snapshot.removed.is_empty() {
        let order = Order::Remove { paths: snapshot.removed.clone() };
        ask(&sandbox.handle, &order, "remove files in", root).await?;
    }
    let archive = std::fs::File::open(&*snapshot.archive).map_err(SandboxError::io("open a snapshot"))?;
    unpack(&sandbox.handle, root, &mut Blocking(archive)).await.map(drop)
}

/// The standard variables, with those of an image where they are its own.
fn environment(of_image: &[String]) -> BaseEnvironment {
    let mut variables: BTreeMap<String, String> = of_image
        .iter()
        .filter_map(|variable| variable.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let path = variables.remove("PATH").unwrap_or_else(|| PATH.to_owned());
    BaseEnvironment::new(&path, &variables)
}
