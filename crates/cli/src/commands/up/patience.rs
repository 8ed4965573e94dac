//! When something that ended is started again, and when somebody has to know.

use std::time::Duration;

/// How long is waited after the first end, and at most.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);
/// What ran so long is well again: the next end is a first one.
const WELL: Duration = Duration::from_mins(1);
/// After so many ends in a row somebody is told, and each time that many more have passed.
const TELL: u32 = 3;

/// How often something ended in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RestartBackoff {
    ends: u32,
}

/// What is done about an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RestartDecision {
    /// How long is waited before the next start.
    pub(super) wait: Duration,
    /// How often it ended in a row.
    pub(super) ends: u32,
    /// Whether somebody has to know.
    pub(super) tell: bool,
}

impl RestartBackoff {
    /// It ended after it ran so long.
    pub(super) fn ended_after(&mut self, ran: Duration) -> RestartDecision {
        if ran >= WELL {
            self.ends = 0;
        }
        self.ends += 1;
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(self.ends - 1)).min(LONGEST);
        RestartDecision { wait, ends: self.ends, tell: self.ends.is_multiple_of(TELL) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_waited_longer_and_longer_until_it_was_well() {
        let mut patience = RestartBackoff::default();
        let seconds = Duration::from_secs;
        let waits: Vec<u64> = (0..8).map(|_| patience.ended_after(seconds(2)).wait.as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(
            patience.ended_after(seconds(60)),
            RestartDecision { wait: seconds(1), ends: 1, tell: false }
        );
        assert!(!patience.ended_after(seconds(1)).tell);
        assert!(patience.ended_after(seconds(1)).tell);
    }
}
