//! Shard files of a cache.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};

use crate::atomic_write::write_atomically_without_sync;

use super::CachedFacts;

/// Few enough to read all of them for every scan, many enough that one edit rewrites little.
const SHARDS: usize = 32;

/// Changes whenever the analysis does; see `build.rs`.
const FINGERPRINT: &str = env!("MENACE_ANALYSIS_FINGERPRINT");

/// Cached facts of one repository.
pub(crate) struct FactsCache {
    directory: PathBuf,
    entries: FxHashMap<String, CachedFacts>,
}

impl FactsCache {
    /// Opens the cache of a repository below `base`. Shards that cannot be used are treated as empty.
    pub(crate) fn open(base: &Path, root: &Path) -> Self {
        let digest = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        let directory = base.join("scan").join(&digest[..16]);
        let shards: Vec<Vec<(String, CachedFacts)>> =
            (0..SHARDS).into_par_iter().map(|shard| read_shard(&shard_path(&directory, shard))).collect();
        let mut entries = FxHashMap::default();
        entries.reserve(shards.iter().map(Vec::len).sum());
        entries.extend(shards.into_iter().flatten());
        Self { directory, entries }
    }

    pub(crate) fn take(&mut self, path: &str) -> Option<CachedFacts> {
        self.entries.remove(path)
    }

    /// Paths that were not taken: files that no longer exist.
    pub(crate) fn remaining(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Writes the shards that contain changed entries.
    ///
    /// A failed write slows the next scan down and changes no result, so it is only a warning; one for all shards,
    /// since they fail for the same reason.
    pub(crate) fn save<'a>(
        &self,
        entries: impl Iterator<Item = (&'a str, &'a CachedFacts)>,
        changed: &[&str],
    ) {
        let mut is_dirty = [false; SHARDS];
        changed.iter().copied().chain(self.remaining()).for_each(|path| is_dirty[shard_of(path)] = true);
        let mut shards: Vec<Vec<(&str, &CachedFacts)>> = (0..SHARDS).map(|_| Vec::new()).collect();
        for (path, entry) in entries {
            shards[shard_of(path)].push((path, entry));
        }
        let first_failure =
            (0..SHARDS).into_par_iter().filter(|shard| is_dirty[*shard]).find_map_any(|shard| {
                let path = shard_path(&self.directory, shard);
                write_shard(&path, &shards[shard]).err().map(|error| (path, error))
            });
        if let Some((path, error)) = first_failure {
            tracing::warn!(path = %path.display(), %error, "failed to write the scan cache");
        }
    }
}

fn shard_path(directory: &Path, shard: usize) -> PathBuf {
    directory.join(format!("{shard:02}.facts"))
}

fn shard_of(path: &str) -> usize {
    let mut hasher = FxHasher::default();
    path.hash(&mut hasher);
    usize::try_from(hasher.finish() >> 32).unwrap_or(0) % SHARDS
}

fn header() -> [u8; 32] {
    *blake3::hash(format!("menace facts {FINGERPRINT}").as_bytes()).as_bytes()
}

/// Shard format: header, checksum of the payload, payload.
fn write_shard(path: &Path, entries: &[(&str, &CachedFacts)]) -> std::io::Result<()> {
    let payload = postcard::to_stdvec(entries).expect("facts are plain data");
    let mut bytes = Vec::with_capacity(payload.len() + 64);
    bytes.extend(header());
    bytes.extend(blake3::hash(&payload).as_bytes());
    bytes.extend(payload);
    write_atomically_without_sync(path, &bytes)
}

fn read_shard(path: &Path) -> Vec<(String, CachedFacts)> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let usable = bytes.split_at_checked(32).filter(|(found, _)| *found == header());
    let Some((checksum, payload)) = usable.and_then(|(_, rest)| rest.split_at_checked(32)) else {
        tracing::debug!(path = %path.display(), "scan cache has another version, rebuilding it");
        return Vec::new();
    };
    if blake3::hash(payload).as_bytes() != checksum {
        tracing::warn!(path = %path.display(), "scan cache is corrupt, rebuilding it");
        return Vec::new();
    }
    postcard::from_bytes(payload).unwrap_or_else(|error| {
        // The checksum is valid, so this build wrote a payload that it cannot read: a bug in menace worth a warning.
        tracing::warn!(path = %path.display(), %error, "failed to decode the scan cache, rebuilding it");
        Vec::new()
    })
}
