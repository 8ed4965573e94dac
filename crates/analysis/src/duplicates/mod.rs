//! Modules that repeat each other.

mod fingerprint;
mod similar;

pub(crate) use fingerprint::{Fingerprint, fingerprint};
pub(crate) use similar::{Duplicate, find_duplicates};
