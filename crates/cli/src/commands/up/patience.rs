//! Delays between restarts of a service, and when to send an alert.

use std::time::Duration;

/// Delay after the first exit, and the longest delay.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);
/// A service that ran this long is healthy: its next exit counts as the first.
const HEALTHY: Duration = Duration::from_mins(1);
/// An alert is sent after this many exits in a row, and again after as many more.
const ALERT_EVERY: u32 = 3;

/// Number of exits of a service in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RestartBackoff {
    ends: u32,
}

/// Reaction to an exit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RestartDecision {
    /// Delay before the next start.
    pub(super) wait: Duration,
    /// Number of exits in a row.
    pub(super) ends: u32,
    /// Whether to send an alert.
    pub(super) alert: bool,
}

impl RestartBackoff {
    /// Counts an exit after the service `ran` this long.
    pub(super) fn ended_after(&mut self, ran: Duration) -> RestartDecision {
        if ran >= HEALTHY {
            self.ends = 0;
        }
        self.ends += 1;
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(self.ends - 1)).min(LONGEST);
        RestartDecision { wait, ends: self.ends, alert: self.ends.is_multiple_of(ALERT_EVERY) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_until_the_service_was_healthy() {
        let mut backoff = RestartBackoff::default();
        let seconds = Duration::from_secs;
        let waits: Vec<u64> = (0..8).map(|_| backoff.ended_after(seconds(2)).wait.as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(
            backoff.ended_after(seconds(60)),
            RestartDecision { wait: seconds(1), ends: 1, alert: false }
        );
        assert!(!backoff.ended_after(seconds(1)).alert);
        assert!(backoff.ended_after(seconds(1)).alert);
    }
}
