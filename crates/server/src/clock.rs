//! Wall-clock time, as numbers and as text.

use std::time::{SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

/// Formats a time as RFC 3339, such as `2026-11-18T01:23:45.678Z`.
pub fn format_time(unix_ms: i64) -> String {
    let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ms) * 1_000_000).ok();
    moment.and_then(|moment| moment.format(&Rfc3339).ok()).unwrap_or_else(|| unix_ms.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_formatted_as_rfc_3339() {
        assert_eq!(super::format_time(0), "1970-01-01T00:00:00Z");
        assert_eq!(super::format_time(1_795_000_000_123), "2026-11-18T11:06:40.123Z");
    }
}
