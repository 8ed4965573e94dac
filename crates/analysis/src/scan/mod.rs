//! Scan of a repository, from files to inventory.

mod assemble;
mod combined_measures;
mod gather_facts;
mod module_scores;
mod repository_scan;

pub use crate::files::WalkError as ScanError;
pub use combined_measures::{CombinedMeasures, measure_combined};
pub use repository_scan::{
    ChurnReport, ChurnedLines, RepositoryScan, ScanObserver, ScanOptions, SilentScanObserver, scan,
};
