//! Tasks of the clean-up workers: sweep idle containers, reap stale containers, purge stale overlays of virtual machines.

use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_sandbox::SandboxError;
use menace_sandbox::overlays::{OverlayPurgeScope, OverlayRegistry};

use super::workers::BackgroundWorkers;
use crate::metrics::CleanupWorker;
use crate::sandboxes::{BackendName, SandboxService};

/// Configuration of the clean-up.
#[derive(Debug, Clone)]
pub struct CleanupOptions {
    /// Interval between two sweeps.
    pub interval: Duration,
    /// Interval between two checks that the workers are running.
    pub check: Duration,
    /// Backends to start immediately, because an earlier process may have left stale resources.
    pub at_start: Vec<BackendName>,
    /// Overlays of virtual machines.
    pub overlays: Option<OverlayRegistry>,
}

impl CleanupOptions {
    /// Removes stale overlays and starts the clean-up workers.
    pub(crate) fn begin(self, sandboxes: &Arc<SandboxService>) -> BackgroundWorkers {
        self.purge_overlays(sandboxes, true);
        let crew = BackgroundWorkers::new();
        let (options, all) = (self.clone(), Arc::clone(sandboxes));
        crew.start(CleanupWorker::Cleanup.name(), move || Box::pin(options.clone().sweep(Arc::clone(&all))));
        let all = Arc::clone(sandboxes);
        crew.start(CleanupWorker::Reaper.name(), move || Box::pin(self.clone().reap(Arc::clone(&all))));
        crew
    }

    async fn sweep(self, sandboxes: Arc<SandboxService>) {
        loop {
            tokio::time::sleep(self.interval).await;
            let began = Instant::now();
            for backend in sandboxes.backends.started().await {
                record_failure(&sandboxes, CleanupWorker::Cleanup, backend.remove_expired().await);
            }
            sandboxes.end_too_large().await;
            self.purge_overlays(&sandboxes, false);
            sandboxes.metrics.cleaning.swept(CleanupWorker::Cleanup, began.elapsed());
        }
    }

    async fn reap(self, sandboxes: Arc<SandboxService>) {
        loop {
            tokio::time::sleep(self.interval).await;
            let began = Instant::now();
            for backend in sandboxes.backends.started().await {
                record_failure(&sandboxes, CleanupWorker::Reaper, backend.remove_stale().await);
            }
            sandboxes.metrics.cleaning.swept(CleanupWorker::Reaper, began.elapsed());
        }
    }

    fn purge_overlays(&self, sandboxes: &SandboxService, is_start: bool) {
        let Some(overlays) = &self.overlays else { return };
        match overlays.purge(OverlayPurgeScope::Old) {
            Ok(done) => {
                sandboxes.metrics.cleaning.overlays(is_start, done.removed.len(), done.failed.len());
                for (path, problem) in done.failed {
                    tracing::warn!("failed to remove overlay {}: {problem}", path.display());
                }
            }
            Err(error) => {
                sandboxes.metrics.cleaning.failed();
                tracing::warn!("failed to list overlays: {error}");
            }
        }
    }
}

fn record_failure(sandboxes: &SandboxService, worker: CleanupWorker, result: Result<(), SandboxError>) {
    if let Err(error) = result {
        sandboxes.metrics.cleaning.failed();
        tracing::warn!("{} worker failed: {error}", worker.name());
    }
}
