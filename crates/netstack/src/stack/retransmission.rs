//! Retransmission timeout of a connection.
//!
//! The TCP library waits for at least a second, and twice as long after each retransmission, until it has measured the
//! round trip of a segment that was sent only once; under loss that may be never, so that its timeout grows to a minute.
//! Linux resets the timeout as soon as data is acknowledged, and so does this module: when a connection has waited long
//! enough, its clock is advanced to the moment at which the library would retransmit.

use std::time::{Duration, Instant};

/// Shortest timeout in addition to the round-trip time, as in Linux.
const MIN_TIMEOUT: Duration = Duration::from_millis(200);
/// Longest timeout, as in Linux.
const MAX_TIMEOUT: Duration = Duration::from_mins(2);

#[derive(Debug)]
pub(super) struct RetransmissionTimer {
    /// Amount by which the clock of the connection is ahead.
    ahead: Duration,
    /// Bytes acknowledged so far; `since` is the time of the last acknowledgement or retransmission.
    acknowledged: u64,
    since: Instant,
    /// Retransmissions since the last acknowledgement.
    retransmissions: u32,
}

impl RetransmissionTimer {
    pub(super) fn new(now: Instant) -> Self {
        Self { ahead: Duration::ZERO, acknowledged: 0, since: now, retransmissions: 0 }
    }

    /// Time on the clock of the connection.
    pub(super) fn clock(&self, now: Instant) -> Instant {
        now + self.ahead
    }

    /// Updates the number of acknowledged bytes. Progress resets the timeout, and so does having no unacknowledged data.
    pub(super) fn update(&mut self, acknowledged: u64, is_waiting: bool, now: Instant) {
        if acknowledged != self.acknowledged || !is_waiting {
            (self.acknowledged, self.since, self.retransmissions) = (acknowledged, now, 0);
        }
    }

    /// Time of the next retransmission, for this round-trip time.
    pub(super) fn retransmits_at(&self, round_trip: Duration) -> Instant {
        let timeout = (MIN_TIMEOUT + round_trip).saturating_mul(2_u32.saturating_pow(self.retransmissions));
        self.since + timeout.min(MAX_TIMEOUT)
    }

    /// Advances the clock to the library's next retransmission.
    pub(super) fn advance_to_retransmission(&mut self, delay: Duration, now: Instant) {
        self.ahead += delay;
        self.retransmissions += 1;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_double_until_data_is_acknowledged() {
        let start = Instant::now();
        let mut timeout = RetransmissionTimer::new(start);
        let round_trip = Duration::from_millis(100);
        let mut now = start;
        let mut timeouts = Vec::new();
        for _ in 0..4 {
            timeout.update(0, true, now);
            let at = timeout.retransmits_at(round_trip);
            timeouts.push((at - now).as_millis());
            now = at;
            timeout.advance_to_retransmission(Duration::from_secs(1), now);
        }
        assert_eq!(timeouts, [300, 600, 1200, 2400]);
        assert_eq!(timeout.clock(now) - now, Duration::from_secs(4));
        timeout.update(1, true, now);
        assert_eq!(timeout.retransmits_at(round_trip) - now, Duration::from_millis(300));
        let later = now + Duration::from_secs(9);
        timeout.update(1, false, later);
        assert_eq!(timeout.retransmits_at(round_trip) - later, Duration::from_millis(300));
    }
}
