//! Detection of duplicate and near-duplicate modules.

mod duplicate_pairs;
mod fingerprint;

pub(crate) use duplicate_pairs::{DuplicateModule, find_duplicates};
pub(crate) use fingerprint::{ModuleFingerprint, fingerprint};
