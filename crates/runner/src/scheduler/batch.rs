//! Batches: calls that share an import.

use crate::call::Call;

/// Calls that share an import, with their numbers.
pub(crate) type CallBatch = Vec<(usize, Call)>;

/// Purpose of calls, which decides how many of them share an import at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchPurpose {
    /// The calls of a plan.
    Run,
    /// Calls whose outcomes are compared with those of other code.
    Comparison,
    /// Candidates for a smaller input.
    Shrinking,
}

impl BatchPurpose {
    /// Largest number of calls in a batch.
    pub(crate) const fn largest_batch(self, starves: bool) -> usize {
        match self {
            // Calls under a CPU quota take long, and no other call can be made until the last of them has ended.
            Self::Run | Self::Comparison if starves => 8,
            // Number of outcomes that are lost when menace is killed, and of calls that one hanging call delays.
            Self::Run => 48,
            // A turn has few calls, and the other side waits for the last of them.
            Self::Comparison => 16,
            // The first failing candidate of a batch is taken, and those after it were made in vain.
            Self::Shrinking => 8,
        }
    }
}

impl Call {
    /// Whether two calls can be made in one batch: after one import, one after the other.
    pub(crate) fn can_share_import_with(&self, other: &Self) -> bool {
        // Calls that wait for the network must not wait for each other, and a window of faults belongs to one call.
        let is_alone = |call: &Self| call.needs_world || call.across;
        self.module == other.module
            // Examples have more effects than calls.
            && self.examples == other.examples
            && self.circumstances == other.circumstances
            && !is_alone(self)
            && !is_alone(other)
    }
}
