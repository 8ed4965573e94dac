//! What the commands that read a repository have in common.

use std::path::{Path, PathBuf};

use menace_analysis::orphans::OrphanOptions;
use menace_analysis::scan::{RepositoryScan, ScanObserver, ScanOptions, SilentScanObserver, scan};
use menace_model::settings::OrphanSettings;

use crate::arguments::RepositoryArguments;
use crate::churn::GitChurn;
use crate::configuration::Configuration;
use crate::terminal::ScanProgress;

/// What a scan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanPurpose {
    /// The inventory.
    Inventory,
    /// The inventory, and how strongly modules relate.
    ModuleMap,
}

/// Scans the repository that the user named, with progress on stderr.
pub(super) fn read_repository(
    configuration: &Configuration,
    repository: &RepositoryArguments,
    purpose: ScanPurpose,
) -> anyhow::Result<RepositoryScan> {
    let root = configuration.repository(repository.path.as_deref());
    let mut options = RepositoryScanOptions::of(configuration);
    options.exclude.extend(repository.exclude.iter().cloned());
    if repository.no_cache {
        options.cache = None;
    }
    let progress = ScanProgress::new(&root);
    let scanned = options.scan(&root, purpose, &progress);
    progress.finish();
    scanned
}

/// How repositories are read, apart from the configuration, so that another thread can do it.
#[derive(Debug, Clone)]
pub(super) struct RepositoryScanOptions {
    exclude: Vec<String>,
    cache: Option<PathBuf>,
    orphans: OrphanOptions,
}

impl RepositoryScanOptions {
    pub(super) fn of(configuration: &Configuration) -> Self {
        Self {
            exclude: configuration.settings().scan.exclude_dirs.clone(),
            cache: cache_directory(),
            orphans: orphan_options(&configuration.settings().orphans),
        }
    }

    /// Scans a repository without a word.
    pub(super) fn read(&self, root: &Path, purpose: ScanPurpose) -> anyhow::Result<RepositoryScan> {
        self.scan(root, purpose, &SilentScanObserver)
    }

    fn scan(
        &self,
        root: &Path,
        purpose: ScanPurpose,
        progress: &dyn ScanObserver,
    ) -> anyhow::Result<RepositoryScan> {
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

pub(super) fn orphan_options(settings: &OrphanSettings) -> OrphanOptions {
    OrphanOptions {
        enabled: !(settings.disable_orphan_scan || settings.disable_orphans),
        discover_isolated: settings.discover_isolated,
        recursive_orphans: settings.recursive_orphans,
        recursive_isolated: settings.recursive_isolated,
        max_depth: settings.max_recursion_depth,
    }
}

/// `$XDG_CACHE_HOME/menace` or `~/.cache/menace`; without a home there is no cache.
pub(super) fn cache_directory() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("menace"))
}
