//! Latencies and their percentiles.

use std::time::Duration;

use serde::Serialize;

/// Measured latencies of one operation.
#[derive(Debug, Default, Clone)]
pub(crate) struct LatencySamples(Vec<Duration>);

/// Percentiles of latencies. They are measured values (nearest rank), never interpolated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct LatencySummary {
    pub(crate) count: usize,
    pub(crate) min_ms: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p90_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
}

impl LatencySamples {
    pub(crate) fn add(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// Percentiles; `None` without samples.
    pub(crate) fn summary(&self) -> Option<LatencySummary> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        Some(LatencySummary {
            count: sorted.len(),
            min_ms: in_milliseconds(*sorted.first()?),
            p50_ms: percentile(&sorted, 50)?,
            p90_ms: percentile(&sorted, 90)?,
            p99_ms: percentile(&sorted, 99)?,
            max_ms: in_milliseconds(*sorted.last()?),
        })
    }
}

impl FromIterator<Duration> for LatencySamples {
    fn from_iter<T: IntoIterator<Item = Duration>>(samples: T) -> Self {
        Self(samples.into_iter().collect())
    }
}

/// A duration in the unit of the JSON document.
pub(crate) fn in_milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Smallest sample that at least `percent` percent of the samples do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().map(in_milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let samples: LatencySamples = (1..=200).rev().map(Duration::from_millis).collect();
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
        let summary = LatencySamples(vec![Duration::from_millis(7)]).summary().unwrap();
        assert!((summary.p50_ms - 7.0).abs() < 1e-9 && (summary.p99_ms - 7.0).abs() < 1e-9);
        assert_eq!(LatencySamples::default().summary(), None);
    }
}
