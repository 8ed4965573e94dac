//! Population stability index.

use super::describe::quantile_of_sorted;

/// Minimum share of a bin, because the logarithm of 0 is not finite.
const LEAST_SHARE: f64 = 1e-4;

/// Population stability index of actual values against expected ones, in quantile bins of the expected values; `None`
/// without values or bins.
pub fn population_stability(expected: &[f64], actual: &[f64], bins: usize) -> Option<f64> {
    if expected.is_empty() || actual.is_empty() || bins == 0 {
        return None;
    }
    let mut sorted = expected.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut edges: Vec<f64> =
        (1..bins).filter_map(|number| quantile_of_sorted(&sorted, number as f64 / bins as f64)).collect();
    edges.dedup();
    let shares = |values: &[f64]| -> Vec<f64> {
        let mut counts = vec![0_usize; edges.len() + 1];
        for value in values {
            counts[edges.partition_point(|edge| edge <= value)] += 1;
        }
        counts.iter().map(|count| (*count as f64 / values.len() as f64).max(LEAST_SHARE)).collect()
    };
    let both = shares(expected).into_iter().zip(shares(actual));
    Some(both.map(|(expected, actual)| (actual - expected) * (actual / expected).ln()).sum())
}
