//! Whether another cycle is worth its cost.

use statrs::distribution::{Beta, ContinuousCDF};

/// Results of the cycles so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProposalYield {
    /// Proposals that were tried.
    pub tried: u64,
    /// Proposals that were kept.
    pub kept: u64,
    /// Largest plausible gain of one proposal, in money.
    pub best_gain: f64,
    /// Cost of a cycle, in money.
    pub cost: f64,
    /// Proposals per cycle.
    pub each_cycle: u64,
}

/// Upper 95 % confidence bound of the gain of another cycle, if it is at least the cost; `None` if it is not. Without any
/// tried proposal the share of kept ones is bounded by 1.
pub fn next_cycle_gain(prospect: &ProposalYield) -> Option<f64> {
    let most = highest_share(prospect.kept, prospect.tried);
    let expected = most * prospect.best_gain.max(0.0) * prospect.each_cycle.max(1) as f64;
    // NaN is not a reason to stop.
    let is_too_little = expected < prospect.cost;
    (!is_too_little).then_some(expected)
}

/// Upper bound of the Clopper-Pearson interval.
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
    fn stopping_takes_rejected_proposals_and_fewer_for_smaller_gains() {
        let after = |tried, best_gain| {
            next_cycle_gain(&ProposalYield { tried, kept: 0, best_gain, cost: 1.0, each_cycle: 1 }).is_some()
        };
        assert!(after(0, 10.0) && after(10, 10.0));
        assert!(!after(40, 10.0));
        assert!(!after(0, 0.5) && after(40, 100.0));
        assert!((highest_share(0, 10) - 0.258_865).abs() < 1e-5, "{}", highest_share(0, 10));
    }
}
