//! Orphans: modules that are isolated, needed only by other orphans, redundant copies or legacy.

mod classify;
mod liveness;
mod names;
mod reports;

pub use classify::OrphanOptions;
pub(crate) use classify::{Candidate, classify};
pub(crate) use liveness::entry_roles;
pub use reports::{OrphanFileError, OrphanFiles, write_orphan_files};
