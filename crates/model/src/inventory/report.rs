//! The inventory, as `menace scan --json` prints it.

use serde::{Deserialize, Serialize};

use super::{Diagnostic, Orphan, PythonModule};

/// Statistics of the scan itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScanStatistics {
    /// Python files found.
    pub files: usize,
    /// Files read and analysed in this scan.
    pub analysed: usize,
    /// Files whose facts came from the cache.
    pub cached: usize,
    /// Bytes of Python source.
    pub bytes: u64,
    /// Wall time of the scan.
    pub elapsed_ms: f64,
}

/// Everything a scan knows about a repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// Version of this format.
    pub version: u32,
    /// The absolute path that was scanned.
    pub root: String,
    /// Modules, sorted by path.
    pub modules: Vec<PythonModule>,
    /// Import cycles over all run-time imports: module names, each cycle sorted, largest first.
    pub cycles: Vec<Vec<String>>,
    /// The cycles that remain without imports inside functions: those that can fail at import.
    pub import_time_cycles: Vec<Vec<String>>,
    /// Orphans, sorted by path.
    pub orphans: Vec<Orphan>,
    /// Files and lines that could not be read, decoded or parsed.
    pub diagnostics: Vec<Diagnostic>,
    /// Statistics of the scan itself.
    pub statistics: ScanStatistics,
}

impl Inventory {
    /// Format version that this build writes.
    pub const VERSION: u32 = 1;
}
