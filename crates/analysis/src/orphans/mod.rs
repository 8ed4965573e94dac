//! Modules that nothing needs: isolated ones, chains of them, copies and leftovers.

mod classify;
mod liveness;
mod names;
mod reports;

pub use classify::OrphanOptions;
pub(crate) use classify::{Candidate, classify};
pub(crate) use liveness::entry_roles;
pub use reports::{OrphanFileError, OrphanFiles, write_orphan_files};
