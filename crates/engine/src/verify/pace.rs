//! How long calls take, before and after.

use menace_runner::CallOutcome;

use super::paired::Pair;

/// How much longer a call that worked may take: a quarter, and two milliseconds.
const SLOWER: (f64, f64) = (1.25, 2.0);

/// How long calls took before and after: medians in milliseconds.
pub(super) struct Pace {
    before: f64,
    after: f64,
}

impl Pace {
    pub(super) fn of<'a>(pairs: impl Iterator<Item = &'a Pair>) -> Option<Self> {
        let (before, after) = times(pairs);
        let median = menace_tracker::statistics::median;
        Some(Self { before: median(&before)?, after: median(&after)? })
    }

    pub(super) fn is_slower(&self) -> bool {
        self.after > self.before * SLOWER.0 + SLOWER.1
    }
}

impl std::fmt::Display for Pace {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:.1} → {:.1} ms in turns", self.before, self.after)
    }
}

/// How long calls took that worked before and after, in milliseconds.
pub(super) fn times<'a>(pairs: impl Iterator<Item = &'a Pair>) -> (Vec<f64>, Vec<f64>) {
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
    fn a_little_longer_is_no_slower_and_a_sleep_is() {
        let slower = |before, after| Pace { before, after }.is_slower();
        assert!(!slower(5.0, 8.2));
        assert!(!slower(100.0, 126.9));
        assert!(slower(5.0, 8.3));
        assert!(slower(100.0, 200.0));
    }
}
