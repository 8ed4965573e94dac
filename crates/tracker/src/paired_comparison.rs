//! Paired comparison: whether a candidate is better than its baseline, from measurements of the same calls.

use serde::Serialize;

use crate::random_numbers::RandomNumberStream;
use crate::statistics::mean;

/// Family-wise error rate over all proposals of a run.
const ALL_DOUBT: f64 = 0.01;
/// Minimum confidence for any single proposal.
const LEAST_SURE: f64 = 0.95;
/// Minimum number of pairs.
const FEWEST: usize = 5;
/// Number of bootstrap samples.
const SAMPLES: usize = 4_000;

/// Result of a paired comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedComparison {
    /// Mean gain.
    pub gain: f64,
    /// 95 % bootstrap interval of the gain.
    pub interval: (f64, f64),
    /// Confidence that there is a gain.
    pub probability: f64,
    /// Required confidence.
    pub needed: f64,
}

impl PairedComparison {
    /// Whether the candidate is better.
    pub fn is_better(&self) -> bool {
        self.probability >= self.needed
    }
}

/// Compares by a paired bootstrap. The required confidence rises with the number of earlier proposals, so that at most one
/// run in a hundred keeps a false positive. `None` for too few pairs, values that are not finite, or unequal lengths.
pub fn compare_pairs(
    before: &[f64],
    after: &[f64],
    proposals_before: u64,
    seed: u64,
) -> Option<PairedComparison> {
    if before.len() != after.len() || before.len() < FEWEST {
        return None;
    }
    let gains: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    if gains.iter().any(|gain| !gain.is_finite()) {
        return None;
    }
    let mut numbers = RandomNumberStream(seed);
    let mut means: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            (0..gains.len()).map(|_| gains[numbers.below(gains.len())]).sum::<f64>() / gains.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let better = means.iter().filter(|mean| **mean > 0.0).count();
    // The bootstrap cannot represent unseen values: count one more sample, and that as a loss.
    let sampled = better as f64 / (SAMPLES + 1) as f64;
    // For binary outcomes the exact sign test gives more confidence than the resolution of the samples allows.
    let probability = sign_test(&gains).unwrap_or(sampled);
    let needed = 1.0 - allowed_error(proposals_before);
    let at = |share: f64| crate::statistics::quantile(&means, share);
    Some(PairedComparison { gain: mean(&gains)?, interval: (at(0.025)?, at(0.975)?), probability, needed })
}

/// Error probability allowed for a proposal after this number of others.
fn allowed_error(proposals_before: u64) -> f64 {
    let number = proposals_before as f64 + 1.0;
    (ALL_DOUBT / (number * (number + 1.0))).min(1.0 - LEAST_SURE)
}

/// Number of improved pairs, without a worsened one, that suffice for a verdict of better.
pub fn pairs_needed(proposals_before: u64) -> u32 {
    let doubt = allowed_error(proposals_before);
    (1..1_000).find(|pairs| 0.5_f64.powi(*pairs) <= doubt).unwrap_or(1_000).cast_unsigned()
}

/// Exact sign test: 1 − probability of at least this many improvements among the differing pairs, if improvement and
/// worsening were equally likely. `None` unless each gain is 1, 0 or −1.
fn sign_test(gains: &[f64]) -> Option<f64> {
    let is_sign = |gain: &f64| [-1.0, 0.0, 1.0].iter().any(|sign| (gain - sign).abs() < f64::EPSILON);
    if !gains.iter().all(is_sign) {
        return None;
    }
    let ups = gains.iter().filter(|gain| **gain > 0.5).count();
    let downs = gains.iter().filter(|gain| **gain < -0.5).count();
    let all = (ups + downs) as u64;
    if ups == 0 {
        return Some(0.0);
    }
    // Summed from the smallest term up, so that small terms are not lost in rounding.
    let chance: f64 = (ups as u64..=all).rev().map(|count| binomial_half(all, count)).sum();
    Some(1.0 - chance)
}

/// Probability of this number of heads in `all` fair tosses.
fn binomial_half(all: u64, heads: u64) -> f64 {
    let ln = |number: u64| statrs::function::factorial::ln_factorial(number);
    (ln(all) - ln(heads) - ln(all - heads) - all as f64 * std::f64::consts::LN_2).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two measurements of the same code with the same noise.
    fn same_code(numbers: &mut RandomNumberStream, pairs: usize) -> (Vec<f64>, Vec<f64>) {
        let mut once = || (0..pairs).map(|at| at as f64 + numbers.normal()).collect();
        (once(), once())
    }

    #[test]
    fn identical_code_is_rarely_a_false_positive() {
        let mut numbers = RandomNumberStream(5);
        let better = (0..1_000)
            .filter(|number| {
                let (before, after) = same_code(&mut numbers, 20 + number % 60);
                compare_pairs(&before, &after, 0, *number as u64).unwrap().is_better()
            })
            .count();
        println!("{better} of 1000");
        assert!(better <= 10, "{better} of 1000");
    }

    #[test]
    fn a_real_gain_is_detected() {
        let mut numbers = RandomNumberStream(6);
        let (before, after) = same_code(&mut numbers, 60);
        let after: Vec<f64> = after.iter().map(|value| value + 1.5).collect();
        let verdict = compare_pairs(&before, &after, 0, 1).unwrap();
        assert!(verdict.is_better() && verdict.interval.0 > 0.0, "{verdict:?}");
        let later = compare_pairs(&before, &after, 100, 1).unwrap();
        assert!(later.needed > verdict.needed);
    }

    #[test]
    fn no_gain_is_not_better_and_few_pairs_give_no_verdict() {
        let verdict = compare_pairs(&[1.0; 10], &[1.0; 10], 0, 1).unwrap();
        assert!(!verdict.is_better() && verdict.gain.abs() < 1e-12);
        assert_eq!(compare_pairs(&[1.0; 4], &[2.0; 4], 0, 1), None);
        assert_eq!(compare_pairs(&[1.0; 5], &[f64::NAN; 5], 0, 1), None);
        assert_eq!(compare_pairs(&[1.0; 5], &[1.0; 6], 0, 1), None);
    }

    #[test]
    fn the_sign_test_is_exact() {
        let verdict = |ups: usize, downs: usize, same: usize, others: u64| {
            let after: Vec<f64> = [vec![1.0; ups], vec![0.0; downs], vec![0.5; same]].concat();
            let before: Vec<f64> = [vec![0.0; ups], vec![1.0; downs], vec![0.5; same]].concat();
            compare_pairs(&before, &after, others, 1).unwrap()
        };
        assert!((verdict(7, 0, 20, 0).probability - (1.0 - 0.5_f64.powi(7))).abs() < 1e-12);
        assert!((verdict(3, 3, 0, 0).probability - (1.0 - 42.0 / 64.0)).abs() < 1e-12);
        assert!((verdict(0, 0, 9, 0).probability).abs() < 1e-12);
        // After many proposals a gain can still be detected: it takes more pairs.
        for others in [0, 5, 50, 5_000] {
            let needed = pairs_needed(others) as usize;
            assert!(verdict(needed, 0, 40, others).is_better(), "{needed}");
            assert!(!verdict(needed - 1, 0, 40, others).is_better(), "{needed}");
        }
    }
}
