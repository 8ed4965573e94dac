//! Scans of a repository with the settings of the invocation.

use std::path::{Path, PathBuf};

use menace_analysis::orphans::OrphanOptions;
use menace_analysis::scan::{RepositoryScan, ScanObserver, ScanOptions, SilentScanObserver, scan};
use menace_model::settings::OrphanSettings;

use crate::git_churn::GitChurn;
use crate::{AppContext, AppError};

/// The repository to scan.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// Path of the repository; `None` for the one in the settings.
    pub path: Option<PathBuf>,
    /// Whether to ignore the cache of file facts.
    pub no_cache: bool,
    /// Patterns of excluded paths, in addition to those of the settings.
    pub exclude: Vec<String>,
}

/// Purpose of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanPurpose {
    /// Only the inventory.
    Inventory,
    /// The inventory and the weighted edges between modules.
    ModuleMap,
}

/// Scans a repository and displays the progress.
pub fn read_repository(
    context: &AppContext,
    repository: &ScanRequest,
    purpose: ScanPurpose,
) -> Result<RepositoryScan, AppError> {
    let root = context.repository(repository.path.as_deref());
    let mut options = RepositoryScanOptions::of(context);
    options.exclude.extend(repository.exclude.iter().cloned());
    if repository.no_cache {
        options.cache = None;
    }
    let progress = context.front_end().scan_progress(&root);
    options.scan(&root, purpose, &*progress)
}

/// Scan options without the context, for use in other threads.
#[derive(Debug, Clone)]
pub struct RepositoryScanOptions {
    exclude: Vec<String>,
    cache: Option<PathBuf>,
    orphans: OrphanOptions,
}

impl RepositoryScanOptions {
    /// Scan options from the settings.
    pub fn of(context: &AppContext) -> Self {
        Self {
            exclude: context.settings().scan.exclude_dirs.clone(),
            cache: cache_directory(),
            orphans: orphan_options(&context.settings().orphans),
        }
    }

    /// Scans a repository without showing progress.
    pub fn read(&self, root: &Path, purpose: ScanPurpose) -> Result<RepositoryScan, AppError> {
        self.scan(root, purpose, &SilentScanObserver)
    }

    fn scan(
        &self,
        root: &Path,
        purpose: ScanPurpose,
        progress: &dyn ScanObserver,
    ) -> Result<RepositoryScan, AppError> {
        let options = ScanOptions {
            exclude: self.exclude.clone(),
            cache: self.cache.clone(),
            orphans: self.orphans.clone(),
            weigh: purpose == ScanPurpose::ModuleMap,
        };
        let churn = GitChurn::start(root);
        Ok(scan(root, &options, progress, || churn.finish())?)
    }
}

/// Options of orphan detection in the settings.
pub fn orphan_options(settings: &OrphanSettings) -> OrphanOptions {
    OrphanOptions {
        enabled: !(settings.disable_orphan_scan || settings.disable_orphans),
        discover_isolated: settings.discover_isolated,
        recursive_orphans: settings.recursive_orphans,
        recursive_isolated: settings.recursive_isolated,
        max_depth: settings.max_recursion_depth,
    }
}

/// `$XDG_CACHE_HOME/menace` or `~/.cache/menace`; `None` without a home directory.
pub fn cache_directory() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("menace"))
}
