//! How long a connection waits before it sends again what has not been acknowledged.
//!
//! The TCP library waits for at least a second, and twice as long each time after, until it has measured a round trip of
//! something that it sent once; under loss that may be never, so that pauses grow to a minute. Linux forgets them as soon as
//! something is acknowledged, and so does this: when a connection has waited long enough, its clock is put forward to the
//! moment at which the library would have sent again.

use std::time::{Duration, Instant};

/// The shortest pause, beside what a round trip takes. That of Linux.
const SHORTEST: Duration = Duration::from_millis(200);
/// The longest, that of Linux, too.
const LONGEST: Duration = Duration::from_mins(2);

#[derive(Debug)]
pub(super) struct Patience {
    /// By how much the clock of the connection was put forward.
    ahead: Duration,
    /// Bytes acknowledged so far, and when that or the last time of sending again was.
    acknowledged: u64,
    since: Instant,
    /// Times that everything was sent again since.
    times: u32,
}

impl Patience {
    pub(super) fn new(now: Instant) -> Self {
        Self { ahead: Duration::ZERO, acknowledged: 0, since: now, times: 0 }
    }

    /// What time it is for the connection.
    pub(super) fn clock(&self, now: Instant) -> Instant {
        now + self.ahead
    }

    /// Notes how much has been acknowledged, which makes it patient again. Also when nothing is waited for.
    pub(super) fn see(&mut self, acknowledged: u64, is_waiting: bool, now: Instant) {
        if acknowledged != self.acknowledged || !is_waiting {
            (self.acknowledged, self.since, self.times) = (acknowledged, now, 0);
        }
    }

    /// When it sends again, if an answer that comes at all takes as long as this.
    pub(super) fn ends_at(&self, round_trip: Duration) -> Instant {
        let pause = (SHORTEST + round_trip).saturating_mul(2_u32.saturating_pow(self.times));
        self.since + pause.min(LONGEST)
    }

    /// Puts the clock forward to when the library sends again.
    pub(super) fn put_forward(&mut self, delay: Duration, now: Instant) {
        self.ahead += delay;
        self.times += 1;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_until_something_is_acknowledged() {
        let start = Instant::now();
        let mut patience = Patience::new(start);
        let round_trip = Duration::from_millis(100);
        let mut now = start;
        let mut pauses = Vec::new();
        for _ in 0..4 {
            patience.see(0, true, now);
            let at = patience.ends_at(round_trip);
            pauses.push((at - now).as_millis());
            now = at;
            patience.put_forward(Duration::from_secs(1), now);
        }
        assert_eq!(pauses, [300, 600, 1200, 2400]);
        assert_eq!(patience.clock(now) - now, Duration::from_secs(4));
        patience.see(1, true, now);
        assert_eq!(patience.ends_at(round_trip) - now, Duration::from_millis(300));
        let later = now + Duration::from_secs(9);
        patience.see(1, false, later);
        assert_eq!(patience.ends_at(round_trip) - later, Duration::from_millis(300));
    }
}
