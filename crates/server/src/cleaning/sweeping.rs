//! What workers do: sweep what waits, reap what nobody knows, purge what virtual machines left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_sandbox::SandboxError;
use menace_sandbox::overlays::{Overlays, Which};

use super::crew::Crew;
use crate::metrics::Worker;
use crate::sandboxes::{BackendName, Sandboxes};

/// How it is cleaned up.
#[derive(Debug, Clone)]
pub struct Cleaning {
    /// How long between two sweeps.
    pub interval: Duration,
    /// How often it is looked whether workers are alive.
    pub check: Duration,
    /// Backends that are started at once, because something may be left of an earlier process.
    pub at_start: Vec<BackendName>,
    /// Where virtual machines write.
    pub overlays: Option<Overlays>,
}

impl Cleaning {
    /// Starts those who clean up, and removes what virtual machines left before.
    pub(crate) fn begin(self, sandboxes: &Arc<Sandboxes>) -> Crew {
        self.purge_overlays(sandboxes, true);
        let crew = Crew::new();
        let (cleaning, all) = (self.clone(), Arc::clone(sandboxes));
        crew.start(Worker::Cleanup.name(), move || Box::pin(cleaning.clone().sweep(Arc::clone(&all))));
        let all = Arc::clone(sandboxes);
        crew.start(Worker::Reaper.name(), move || Box::pin(self.clone().reap(Arc::clone(&all))));
        crew
    }

    async fn sweep(self, sandboxes: Arc<Sandboxes>) {
        loop {
            tokio::time::sleep(self.interval).await;
            let began = Instant::now();
            for backend in sandboxes.backends.started().await {
                note(&sandboxes, Worker::Cleanup, backend.sweep().await);
            }
            sandboxes.end_too_large().await;
            self.purge_overlays(&sandboxes, false);
            sandboxes.metrics.cleaning.swept(Worker::Cleanup, began.elapsed());
        }
    }

    async fn reap(self, sandboxes: Arc<Sandboxes>) {
        loop {
            tokio::time::sleep(self.interval).await;
            let began = Instant::now();
            for backend in sandboxes.backends.started().await {
                note(&sandboxes, Worker::Reaper, backend.reap().await);
            }
            sandboxes.metrics.cleaning.swept(Worker::Reaper, began.elapsed());
        }
    }

    fn purge_overlays(&self, sandboxes: &Sandboxes, is_start: bool) {
        let Some(overlays) = &self.overlays else { return };
        match overlays.purge(Which::Old) {
            Ok(done) => {
                sandboxes.metrics.cleaning.overlays(is_start, done.removed.len(), done.failed.len());
                for (path, problem) in done.failed {
                    tracing::warn!("overlay {} could not be removed: {problem}", path.display());
                }
            }
            Err(error) => {
                sandboxes.metrics.cleaning.failed();
                tracing::warn!("overlays could not be looked through: {error}");
            }
        }
    }
}

fn note(sandboxes: &Sandboxes, worker: Worker, done: Result<(), SandboxError>) {
    if let Err(error) = done {
        sandboxes.metrics.cleaning.failed();
        tracing::warn!("{} worker could not do all of its work: {error}", worker.name());
    }
}
