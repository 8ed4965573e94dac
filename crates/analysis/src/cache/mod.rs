//! Facts of earlier scans, by path and content hash.
//!
//! A cache is a directory of shards, each a file with a checksum. A shard that is missing, corrupt or of another
//! version counts as empty and is rebuilt. Writing is a rename, so concurrent scans may repeat work but never corrupt
//! a shard.

mod entry;
mod shards;

pub(crate) use entry::CachedFacts;
pub(crate) use shards::FactsCache;
