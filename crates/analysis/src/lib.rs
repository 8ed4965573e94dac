//! Python source to sections, import graph, orphans, clusters, measures and findings.
//!
//! Reads files and never runs them. Broken Python is data: a file that does not parse yields diagnostics and the
//! parts of it that do parse.
//!
//! ```no_run
//! use menace_analysis::scan::{ScanOptions, SilentScanObserver, scan};
//!
//! let no_churn = || Err("not measured".to_owned());
//! let found = scan("examples/shop".as_ref(), &ScanOptions::default(), &SilentScanObserver, no_churn).unwrap();
//! for module in &found.inventory.modules {
//!     println!("{} has {} sections", module.name, module.sections.len());
//! }
//! ```

mod atomic_write;
mod cache;
mod duplicates;
mod facts;
mod files;
mod imports;
mod lint;
pub mod map;
mod measures;
pub mod orphans;
pub mod python;
pub mod scan;
mod sections;
mod security;
mod syntax;

pub use atomic_write::write_atomically;
