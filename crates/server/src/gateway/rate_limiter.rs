//! Rate limiter: one token bucket for each caller.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Number of callers above which full buckets are dropped.
const MAX_BUCKETS: usize = 10_000;

/// Token buckets of all callers.
#[derive(Debug)]
pub(super) struct RateLimiter<K> {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<K, RateBucket>>,
}

#[derive(Debug, Clone, Copy)]
struct RateBucket {
    left: f64,
    at: Instant,
}

impl<K: Hash + Eq> RateLimiter<K> {
    /// Creates a limiter with a refill rate and a burst size.
    pub(super) fn new(per_second: f64, burst: f64) -> Self {
        Self { per_second, burst, buckets: Mutex::default() }
    }

    /// Takes one token of a caller; if none is left, fails with the time until the next one.
    pub(super) fn take(&self, caller: K, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS {
            // A full bucket equals a new one.
            let full = Duration::from_secs_f64(self.burst / self.per_second);
            buckets.retain(|_, bucket| now.duration_since(bucket.at) < full);
        }
        let bucket = buckets.entry(caller).or_insert(RateBucket { left: self.burst, at: now });
        let filled = now.duration_since(bucket.at).as_secs_f64() * self.per_second;
        bucket.left = (bucket.left + filled).min(self.burst);
        bucket.at = now;
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.left) / self.per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_empty_after_a_burst_and_refills() {
        let (rate, start) = (RateLimiter::new(10.0, 3.0), Instant::now());
        assert!((0..3).all(|_| rate.take("a", start).is_ok()));
        let wait = rate.take("a", start).unwrap_err();
        assert!((wait.as_secs_f64() - 0.1).abs() < 1e-6, "{wait:?}");
        assert!(rate.take("b", start).is_ok(), "callers have separate buckets");
        assert!(rate.take("a", start + Duration::from_millis(101)).is_ok());
        assert!(rate.take("a", start + Duration::from_millis(102)).is_err());
    }
}
