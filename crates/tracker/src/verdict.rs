//! Whether something is better, by pairs of measurements of the same calls.

use serde::Serialize;

use crate::numbers::Numbers;
use crate::statistics::mean;

/// The chance that is spent on all proposals of a run together.
const ALL_DOUBT: f64 = 0.01;
/// How sure one has to be of any of them.
const LEAST_SURE: f64 = 0.95;
/// Pairs of which something can be said.
const FEWEST: usize = 5;
/// Samples that are drawn from the pairs.
const SAMPLES: usize = 4_000;

/// What pairs say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Verdict {
    /// The mean gain.
    pub gain: f64,
    /// Where it is, in 95 of 100 samples of the pairs.
    pub interval: (f64, f64),
    /// The share of samples with a gain.
    pub probability: f64,
    /// The share that is needed.
    pub needed: f64,
}

impl Verdict {
    /// Whether it is better.
    pub fn is_better(&self) -> bool {
        self.probability >= self.needed
    }
}

/// Compares by a paired bootstrap. The more proposals there were before, the more is needed, so that all of them together are
/// wrong once in a hundred runs. Nothing of a few pairs, of values that are no numbers, or of unequal numbers of both.
pub fn paired_verdict(before: &[f64], after: &[f64], proposals_before: u64, seed: u64) -> Option<Verdict> {
    if before.len() != after.len() || before.len() < FEWEST {
        return None;
    }
    let gains: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    if gains.iter().any(|gain| !gain.is_finite()) {
        return None;
    }
    let mut numbers = Numbers(seed);
    let mut means: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            (0..gains.len()).map(|_| gains[numbers.below(gains.len())]).sum::<f64>() / gains.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let better = means.iter().filter(|mean| **mean > 0.0).count();
    // The bootstrap knows nothing of values that it has not seen: as if there were one more sample, and that a loss.
    let probability = better as f64 / (SAMPLES + 1) as f64;
    let number = proposals_before as f64 + 1.0;
    let needed = (1.0 - ALL_DOUBT / (number * (number + 1.0))).max(LEAST_SURE);
    let at = |share: f64| crate::statistics::quantile(&means, share);
    Some(Verdict { gain: mean(&gains)?, interval: (at(0.025)?, at(0.975)?), probability, needed })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two measurements of one thing with the same noise.
    fn same_code(numbers: &mut Numbers, pairs: usize) -> (Vec<f64>, Vec<f64>) {
        let mut once = || (0..pairs).map(|at| at as f64 + numbers.normal()).collect();
        (once(), once())
    }

    #[test]
    fn the_same_code_is_hardly_ever_better_than_itself() {
        let mut numbers = Numbers(5);
        let better = (0..1_000)
            .filter(|number| {
                let (before, after) = same_code(&mut numbers, 20 + number % 60);
                paired_verdict(&before, &after, 0, *number as u64).unwrap().is_better()
            })
            .count();
        println!("{better} of 1000");
        assert!(better <= 10, "{better} of 1000");
    }

    #[test]
    fn what_is_better_is_seen() {
        let mut numbers = Numbers(6);
        let (before, after) = same_code(&mut numbers, 60);
        let after: Vec<f64> = after.iter().map(|value| value + 1.5).collect();
        let verdict = paired_verdict(&before, &after, 0, 1).unwrap();
        assert!(verdict.is_better() && verdict.interval.0 > 0.0, "{verdict:?}");
        let later = paired_verdict(&before, &after, 100, 1).unwrap();
        assert!(later.needed > verdict.needed);
    }

    #[test]
    fn nothing_is_not_better_and_little_says_nothing() {
        let verdict = paired_verdict(&[1.0; 10], &[1.0; 10], 0, 1).unwrap();
        assert!(!verdict.is_better() && verdict.gain.abs() < 1e-12);
        assert_eq!(paired_verdict(&[1.0; 4], &[2.0; 4], 0, 1), None);
        assert_eq!(paired_verdict(&[1.0; 5], &[f64::NAN; 5], 0, 1), None);
        assert_eq!(paired_verdict(&[1.0; 5], &[1.0; 6], 0, 1), None);
    }
}
