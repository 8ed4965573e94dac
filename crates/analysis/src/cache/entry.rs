//! Cache entry of one file.

use serde::{Deserialize, Serialize};

use crate::facts::FileFacts;
use crate::files::FileStamp;

/// Facts of a file, with the stamp and content hash that tell whether they are still valid.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CachedFacts {
    pub(crate) stamp: FileStamp,
    pub(crate) content: [u8; 32],
    /// Time at which the stamp was taken, on the file system's clock.
    pub(crate) recorded_ns: i128,
    pub(crate) facts: FileFacts,
}

/// File systems take time stamps from a timer tick; a change within this time of the scan may not change the stamp.
const STAMP_GRANULARITY_NS: i128 = 1_000_000_000;

impl CachedFacts {
    /// Whether the stamp alone proves that the file has not changed.
    pub(crate) fn is_unchanged(&self, stamp: &FileStamp) -> bool {
        let newest_change = self.stamp.modified_ns.max(self.stamp.changed_ns);
        self.stamp == *stamp && newest_change + STAMP_GRANULARITY_NS < self.recorded_ns
    }
}
