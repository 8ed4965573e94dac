//! Conversion of time for smoltcp, the TCP library.

use std::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(super) struct SmoltcpClock {
    /// Start of the network.
    pub(super) origin: Instant,
}

impl SmoltcpClock {
    pub(super) fn at(&self, now: Instant) -> smoltcp::time::Instant {
        let micros = i64::try_from(now.saturating_duration_since(self.origin).as_micros());
        smoltcp::time::Instant::from_micros(micros.unwrap_or(i64::MAX))
    }
}
