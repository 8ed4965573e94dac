//! Public entry point of a scan: options in, inventory and graph out.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use menace_model::inventory::Inventory;

use crate::cache::FactsCache;
use crate::files::{WalkError, walk};
use crate::imports::local_dependencies;
use crate::map::ModuleEdge;
use crate::orphans::OrphanOptions;

use super::assemble::assemble;
use super::gather_facts::{analysis_pool, gather};

/// Options of a scan.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// Directory names or globs that are not entered.
    pub exclude: Vec<String>,
    /// Directory of the facts cache; `None` reads every file.
    pub cache: Option<PathBuf>,
    /// Options of orphan discovery.
    pub orphans: OrphanOptions,
    /// Compute the weighted edges between modules, for the module map; otherwise [`RepositoryScan::weights`] is empty.
    pub weigh: bool,
}

/// Observer of the progress of a scan, called from several threads.
pub trait ScanObserver: Sync {
    /// Called once, when the number of files is known.
    fn found(&self, files: usize);
    /// Called for every file that was analysed or taken from the cache.
    fn analysed(&self);
}

/// Observer that ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct SilentScanObserver;

impl ScanObserver for SilentScanObserver {
    fn found(&self, _files: usize) {}
    fn analysed(&self) {}
}

/// Changed lines of one file in the last thirty days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChurnedLines {
    /// Commits that changed the file.
    pub commits: u32,
    /// Lines added.
    pub added: u32,
    /// Lines deleted.
    pub deleted: u32,
}

/// Changed lines by path relative to the root, or the reason why they are not known.
pub type ChurnReport = Result<HashMap<String, ChurnedLines>, String>;

/// Result of a scan.
#[derive(Debug)]
pub struct RepositoryScan {
    /// Modules, sections, import graph and findings.
    pub inventory: Inventory,
    /// Weighted edges between modules, by index into `inventory.modules`: one per import and one per call. Input of the
    /// module map.
    pub weights: Vec<ModuleEdge>,
    /// The modules that each module imports at run time.
    pub(super) imported: Vec<Vec<usize>>,
}

impl RepositoryScan {
    /// The repository's modules that a module needs at run time, at most `depth` imports away, nearest first.
    pub fn local_dependencies(&self, path: &str, depth: Option<usize>) -> Option<Vec<&str>> {
        let modules = &self.inventory.modules;
        let start = modules.iter().position(|module| module.path == path || module.name == path)?;
        let needed = local_dependencies(start, depth, |module| self.imported[module].clone());
        Some(needed.into_iter().map(|module| modules[module].path.as_str()).collect())
    }
}

/// Scans the repository at `root`. `churn` is called late, so that it can be collected while files are read.
pub fn scan(
    root: &Path,
    options: &ScanOptions,
    progress: &dyn ScanObserver,
    churn: impl FnOnce() -> ChurnReport + Send,
) -> Result<RepositoryScan, WalkError> {
    let started = Instant::now();
    let root =
        &std::fs::canonicalize(root).map_err(|source| WalkError::Root { path: root.to_owned(), source })?;
    let pool = analysis_pool();
    let open_cache = || options.cache.as_deref().map(|base| FactsCache::open(base, root));
    let (walked, cache) = pool.install(|| rayon::join(|| walk(root, &options.exclude), open_cache));
    let walked = walked?;
    let files = walked.files.len();
    tracing::debug!(files, elapsed = ?started.elapsed(), "files found");
    progress.found(files);
    let gathered = gather(walked, cache, pool, progress);
    tracing::debug!(analysed = gathered.analysed, elapsed = ?started.elapsed(), "facts collected");
    let mut scan = assemble(root, gathered, options, churn);
    tracing::debug!(elapsed = ?started.elapsed(), "inventory assembled");
    scan.inventory.statistics.elapsed_ms = started.elapsed().as_secs_f64() * 1000.0;
    Ok(scan)
}
