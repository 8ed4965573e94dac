//! Whether another cycle is worth what it costs.

use statrs::distribution::{Beta, ContinuousCDF};

/// What is known about cycles so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prospect {
    /// Proposals that were tried.
    pub tried: u64,
    /// Of them, those that were kept.
    pub kept: u64,
    /// The most that could plausibly be gained by one, in money.
    pub best_gain: f64,
    /// What a cycle costs, in money.
    pub cost: f64,
    /// Proposals of a cycle.
    pub each_cycle: u64,
}

/// The most that another cycle is expected to bring, with 95 % confidence, if that is at least what it costs; nothing if it
/// is not. What was never tried could always be kept.
pub fn worth_another_cycle(prospect: &Prospect) -> Option<f64> {
    let most = highest_share(prospect.kept, prospect.tried);
    let expected = most * prospect.best_gain.max(0.0) * prospect.each_cycle.max(1) as f64;
    // What is no number is no reason to stop.
    let is_too_little = expected < prospect.cost;
    (!is_too_little).then_some(expected)
}

/// The upper bound of Clopper and Pearson.
fn highest_share(kept: u64, tried: u64) -> f64 {
    if kept >= tried {
        return 1.0;
    }
    Beta::new(kept as f64 + 1.0, (tried - kept) as f64).map_or(1.0, |posterior| posterior.inverse_cdf(0.95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_failures_to_stop_and_fewer_when_little_can_be_gained() {
        let after = |tried, best_gain| {
            worth_another_cycle(&Prospect { tried, kept: 0, best_gain, cost: 1.0, each_cycle: 1 }).is_some()
        };
        assert!(after(0, 10.0) && after(10, 10.0));
        assert!(!after(40, 10.0));
        assert!(!after(0, 0.5) && after(40, 100.0));
        assert!((highest_share(0, 10) - 0.258_865).abs() < 1e-5, "{}", highest_share(0, 10));
    }
}
