//! Exponential back-off after failures.

use std::time::Duration;

/// Delay after the first failure.
pub(super) const BASE: Duration = Duration::from_millis(500);
/// Longest delay.
const LONGEST: Duration = Duration::from_mins(1);

/// Delay after a number of consecutive failures.
pub(super) fn after(failures: u64) -> Duration {
    let doubled = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    BASE.saturating_mul(1 << doubled).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_up_to_the_limit() {
        let seconds: Vec<f64> = (0..10).map(|failures| after(failures).as_secs_f64()).collect();
        assert_eq!(seconds, [0.5, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
        assert_eq!(after(u64::MAX), LONGEST);
    }
}
