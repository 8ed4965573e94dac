//! The backends, each started when the first sandbox of it is wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use menace_sandbox::docker::{PoolEvent, PoolObserver};
use menace_sandbox::{Backend, SandboxError};
use tokio::sync::Mutex;

use super::wanted::BackendName;

/// Who knows how to start backends.
#[async_trait]
pub trait Starter: Send + Sync {
    /// Starts one. Whoever observes it hears what it does by itself.
    async fn start(
        &self,
        name: BackendName,
        observer: Arc<dyn PoolObserver>,
    ) -> Result<Arc<dyn Backend>, SandboxError>;
}

/// Backends that run.
pub struct Backends {
    starter: Box<dyn Starter>,
    /// The one that is used if nobody says which.
    pub usual: BackendName,
    started: Mutex<BTreeMap<BackendName, Arc<dyn Backend>>>,
    observer: OnceLock<Arc<dyn PoolObserver>>,
}

/// For backends that nobody observes.
struct Nobody;

impl PoolObserver for Nobody {
    fn happened(&self, _event: PoolEvent) {}

    fn keeps(&self) -> io::Result<BTreeSet<String>> {
        Err(io::Error::other("nobody knows which sandboxes are kept"))
    }
}

impl Backends {
    /// None runs yet.
    pub fn new(starter: Box<dyn Starter>, usual: BackendName) -> Self {
        Self { starter, usual, started: Mutex::default(), observer: OnceLock::new() }
    }

    /// Says who hears of what backends do by themselves. Who says it first stays.
    pub(super) fn observed_by(&self, observer: Arc<dyn PoolObserver>) {
        let _ = self.observer.set(observer);
    }

    /// One, started if it does not run yet. Who comes meanwhile waits for the same.
    pub async fn get(&self, name: BackendName) -> Result<Arc<dyn Backend>, SandboxError> {
        let mut started = self.started.lock().await;
        if let Some(backend) = started.get(&name) {
            return Ok(Arc::clone(backend));
        }
        let observer = self.observer.get().map_or_else(|| Arc::new(Nobody) as _, Arc::clone);
        let backend = self.starter.start(name, observer).await?;
        started.insert(name, Arc::clone(&backend));
        Ok(backend)
    }

    /// All that run.
    pub async fn started(&self) -> Vec<Arc<dyn Backend>> {
        self.started.lock().await.values().cloned().collect()
    }

    /// Ends all.
    pub async fn end(&self) {
        for backend in self.started().await {
            backend.end().await;
        }
    }
}
