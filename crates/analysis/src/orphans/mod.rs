//! Orphans: modules that are isolated, needed only by other orphans, redundant copies or legacy.

mod classify;
mod liveness;
mod orphan_files;
mod path_conventions;

pub use classify::OrphanOptions;
pub(crate) use classify::{OrphanInputs, classify};
pub(crate) use liveness::entry_roles;
pub use orphan_files::{OrphanFileError, OrphanFileOptions, write_orphan_files};
