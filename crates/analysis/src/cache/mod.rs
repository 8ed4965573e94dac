//! Facts of earlier scans, by path and content hash.
//!
//! A cache is a directory of shards, each a file with a checksum. A shard that is missing, corrupt or of another
//! version counts as empty and is written anew; writing is a rename, so two scans at once cost work, never truth.

mod entry;
mod shards;

pub(crate) use entry::Entry;
pub(crate) use shards::Cache;
