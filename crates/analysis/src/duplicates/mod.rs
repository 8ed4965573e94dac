//! Detection of duplicate and near-duplicate modules.

mod fingerprint;
mod similar;

pub(crate) use fingerprint::{Fingerprint, fingerprint};
pub(crate) use similar::{Duplicate, find_duplicates};
