//! Latencies and what is said of them.

use std::time::Duration;

use serde::Serialize;

/// Measured latencies of one thing.
#[derive(Debug, Default, Clone)]
pub(super) struct Samples(Vec<Duration>);

/// What is said of them. Percentiles are measured values (nearest rank), never in between two.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Summary {
    pub(super) count: usize,
    pub(super) min_ms: f64,
    pub(super) p50_ms: f64,
    pub(super) p90_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) max_ms: f64,
}

impl Samples {
    pub(super) fn add(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// Nothing is said of no samples.
    pub(super) fn summary(&self) -> Option<Summary> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        Some(Summary {
            count: sorted.len(),
            min_ms: in_milliseconds(*sorted.first()?),
            p50_ms: percentile(&sorted, 50)?,
            p90_ms: percentile(&sorted, 90)?,
            p99_ms: percentile(&sorted, 99)?,
            max_ms: in_milliseconds(*sorted.last()?),
        })
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<T: IntoIterator<Item = Duration>>(samples: T) -> Self {
        Self(samples.into_iter().collect())
    }
}

/// A duration as the reports have it.
pub(super) fn in_milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The smallest sample that at least so many percent of the samples do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().map(in_milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let samples: Samples = (1..=200).rev().map(Duration::from_millis).collect();
        let summary = samples.summary().unwrap();
        assert_eq!(summary.count, 200);
        assert!((summary.min_ms - 1.0).abs() < 1e-9);
        assert!((summary.p50_ms - 100.0).abs() < 1e-9);
        assert!((summary.p90_ms - 180.0).abs() < 1e-9);
        assert!((summary.p99_ms - 198.0).abs() < 1e-9);
        assert!((summary.max_ms - 200.0).abs() < 1e-9);
    }

    #[test]
    fn one_sample_is_every_percentile_and_none_is_nothing() {
        let summary = Samples(vec![Duration::from_millis(7)]).summary().unwrap();
        assert!((summary.p50_ms - 7.0).abs() < 1e-9 && (summary.p99_ms - 7.0).abs() < 1e-9);
        assert_eq!(Samples::default().summary(), None);
    }
}
