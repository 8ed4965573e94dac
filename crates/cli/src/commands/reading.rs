//! What the commands that read a repository have in common.

use std::path::PathBuf;

use menace_analysis::orphans::OrphanOptions;
use menace_analysis::scan::{Scan, ScanOptions, scan};
use menace_model::settings::OrphanSettings;

use crate::arguments::Repository;
use crate::churn::GitChurn;
use crate::configuration::Configuration;
use crate::terminal::ScanProgress;

/// What a scan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The inventory.
    Inventory,
    /// The inventory, and how strongly modules relate.
    ModuleMap,
}

/// Scans the repository that the user named, with progress on stderr.
pub(super) fn read_repository(
    configuration: &Configuration,
    repository: &Repository,
    purpose: Purpose,
) -> anyhow::Result<Scan> {
    let root = configuration.repository(repository.path.as_deref());
    let options = ScanOptions {
        exclude: configuration
            .settings()
            .scan
            .exclude_dirs
            .iter()
            .chain(&repository.exclude)
            .cloned()
            .collect(),
        cache: if repository.no_cache { None } else { cache_directory() },
        orphans: orphan_options(&configuration.settings().orphans),
        weigh: purpose == Purpose::ModuleMap,
    };
    let churn = GitChurn::start(&root);
    let progress = ScanProgress::new(&root);
    let scanned = scan(&root, &options, &progress, || churn.finish());
    progress.finish();
    Ok(scanned?)
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
