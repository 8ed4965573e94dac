//! Durations of calls, before and after.

use menace_runner::CallOutcome;

use super::paired_calls::PairedCall;

/// Tolerated slowdown of a successful call: a quarter plus two milliseconds.
const SLOWER: (f64, f64) = (1.25, 2.0);

/// Median durations of calls before and after, in milliseconds.
pub(super) struct MedianDurations {
    before: f64,
    after: f64,
}

impl MedianDurations {
    pub(super) fn of<'a>(pairs: impl Iterator<Item = &'a PairedCall>) -> Option<Self> {
        let (before, after) = times(pairs);
        let median = menace_tracker::statistics::median;
        Some(Self { before: median(&before)?, after: median(&after)? })
    }

    pub(super) fn is_slower(&self) -> bool {
        self.after > self.before * SLOWER.0 + SLOWER.1
    }
}

impl std::fmt::Display for MedianDurations {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "median {:.1} → {:.1} ms", self.before, self.after)
    }
}

/// Durations of calls that succeeded before and after, in milliseconds.
pub(super) fn times<'a>(pairs: impl Iterator<Item = &'a PairedCall>) -> (Vec<f64>, Vec<f64>) {
    let wall = |outcome: &CallOutcome| Some(outcome.measures.as_ref()?.wall_ms);
    pairs
        .filter(|pair| pair.successes() == (1.0, 1.0))
        .filter_map(|pair| Some((wall(&pair.before)?, wall(&pair.after)?)))
        .unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_slowdowns_are_tolerated_and_large_ones_are_not() {
        let slower = |before, after| MedianDurations { before, after }.is_slower();
        assert!(!slower(5.0, 8.2));
        assert!(!slower(100.0, 126.9));
        assert!(slower(5.0, 8.3));
        assert!(slower(100.0, 200.0));
    }
}
