//! Scan of a repository, from files to inventory.

mod assemble;
mod gather;
mod risk;
mod run;
mod whole;

pub use crate::files::WalkError as ScanError;
pub use run::{ChurnReport, ChurnedLines, Progress, Scan, ScanOptions, Silent, scan};
pub use whole::{Whole, read_as_one};
