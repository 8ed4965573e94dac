//! Workbench of the engine on this machine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use menace_analysis::orphans::OrphanOptions;
use menace_analysis::scan::{RepositoryScan, ScanOptions, SilentScanObserver, scan};
use menace_engine::workbench::{EngineError, Workbench};
use menace_model::inventory::Inventory;
use menace_runner::{CallExecutor, TestFileOptions, TestFileOutcome, roots, run_test_files};
use menace_sandbox::native::{NativeBackend, NativeOptions};

use crate::calling::RepositoryExecutor;

/// Workbench on this machine.
pub(super) struct LocalWorkbench {
    pub(super) python: String,
    pub(super) exclude: Vec<String>,
    pub(super) cache: Option<std::path::PathBuf>,
    pub(super) orphans: OrphanOptions,
    pub(super) parallel: usize,
}

#[async_trait]
impl Workbench for LocalWorkbench {
    fn scan(&self, root: &Path) -> Result<RepositoryScan, EngineError> {
        let options = ScanOptions {
            exclude: self.exclude.clone(),
            cache: self.cache.clone(),
            orphans: self.orphans.clone(),
            weigh: false,
        };
        // A copy has no git history, so there is no churn.
        let no_churn = || Err("a copy has no history".to_owned());
        Ok(scan(root, &options, &SilentScanObserver, no_churn)?)
    }

    async fn executor(&self, inventory: &Inventory) -> Result<Arc<dyn CallExecutor>, EngineError> {
        Ok(RepositoryExecutor::of(inventory, &self.python, &[]).await?.executor)
    }

    async fn tests(
        &self,
        inventory: &Inventory,
        files: &[String],
        (times, within): (usize, Duration),
    ) -> Result<Vec<TestFileOutcome>, EngineError> {
        let options = TestFileOptions {
            repository: Path::new(&inventory.root).to_owned(),
            python: self.python.clone(),
            roots: roots(inventory),
            timeout: within,
        };
        let backend = NativeBackend::start(&NativeOptions::default()).await?;
        Ok(run_test_files(&backend, &options, files, times).await?)
    }

    fn parallel(&self) -> usize {
        self.parallel
    }
}
