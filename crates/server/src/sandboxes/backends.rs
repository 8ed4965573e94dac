//! The backends, each started when its first sandbox is requested.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use menace_sandbox::docker::{PoolEvent, PoolObserver};
use menace_sandbox::{Backend, SandboxError};
use tokio::sync::Mutex;

use super::requests::BackendName;

/// Starts backends.
#[async_trait]
pub trait BackendStarter: Send + Sync {
    /// Starts a backend. The observer receives its pool events.
    async fn start(
        &self,
        name: BackendName,
        observer: Arc<dyn PoolObserver>,
    ) -> Result<Arc<dyn Backend>, SandboxError>;
}

/// Running backends.
pub struct RunningBackends {
    starter: Box<dyn BackendStarter>,
    /// Default backend.
    pub usual: BackendName,
    started: Mutex<BTreeMap<BackendName, Arc<dyn Backend>>>,
    observer: OnceLock<Arc<dyn PoolObserver>>,
}

/// Observer of backends without a configured observer.
struct MissingPoolObserver;

impl PoolObserver for MissingPoolObserver {
    fn on_event(&self, _event: PoolEvent) {}

    fn sandboxes_to_keep(&self) -> io::Result<BTreeSet<String>> {
        Err(io::Error::other("no observer is set that knows which sandboxes to keep"))
    }
}

impl RunningBackends {
    /// Creates a set without running backends.
    pub fn new(starter: Box<dyn BackendStarter>, usual: BackendName) -> Self {
        Self { starter, usual, started: Mutex::default(), observer: OnceLock::new() }
    }

    /// Sets the observer of pool events. Only the first call has an effect.
    pub(super) fn observed_by(&self, observer: Arc<dyn PoolObserver>) {
        let _ = self.observer.set(observer);
    }

    /// Returns a backend and starts it if necessary. Concurrent callers wait for the same start.
    pub async fn get(&self, name: BackendName) -> Result<Arc<dyn Backend>, SandboxError> {
        let mut started = self.started.lock().await;
        if let Some(backend) = started.get(&name) {
            return Ok(Arc::clone(backend));
        }
        let observer = self.observer.get().map_or_else(|| Arc::new(MissingPoolObserver) as _, Arc::clone);
        let backend = self.starter.start(name, observer).await?;
        started.insert(name, Arc::clone(&backend));
        Ok(backend)
    }

    /// All running backends.
    pub async fn started(&self) -> Vec<Arc<dyn Backend>> {
        self.started.lock().await.values().cloned().collect()
    }

    /// Shuts down all backends.
    pub async fn end(&self) {
        for backend in self.started().await {
            backend.shut_down().await;
        }
    }
}
