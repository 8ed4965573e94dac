//! The backends, each started when the first sandbox of it is wanted.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use menace_sandbox::{Backend, SandboxError};
use tokio::sync::Mutex;

use super::wanted::BackendName;

/// Who knows how to start backends.
#[async_trait]
pub trait Starter: Send + Sync {
    /// Starts one.
    async fn start(&self, name: BackendName) -> Result<Arc<dyn Backend>, SandboxError>;
}

/// Backends that run.
pub struct Backends {
    starter: Box<dyn Starter>,
    /// The one that is used if nobody says which.
    pub usual: BackendName,
    started: Mutex<BTreeMap<BackendName, Arc<dyn Backend>>>,
}

impl Backends {
    /// None runs yet.
    pub fn new(starter: Box<dyn Starter>, usual: BackendName) -> Self {
        Self { starter, usual, started: Mutex::default() }
    }

    /// One, started if it does not run yet. Who comes meanwhile waits for the same.
    pub async fn get(&self, name: BackendName) -> Result<Arc<dyn Backend>, SandboxError> {
        let mut started = self.started.lock().await;
        if let Some(backend) = started.get(&name) {
            return Ok(Arc::clone(backend));
        }
        let backend = self.starter.start(name).await?;
        started.insert(name, Arc::clone(&backend));
        Ok(backend)
    }
}
