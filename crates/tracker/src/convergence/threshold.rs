//! Thresholds that adapt to the history.

use crate::statistics::weighted_deviation;

/// Changes within this number of deviations count as noise.
const FACTOR: f64 = 2.0;

/// Twice the weighted deviation of the last values, in which later ones weigh more; 0 with too little history.
pub fn adaptive_threshold(values: &[f64], window: usize, weight: f64) -> f64 {
    let last = &values[values.len().saturating_sub(window)..];
    weighted_deviation(last, weight).map_or(0.0, |deviation| FACTOR * deviation)
}

/// Reliability of forecasts: 1 when they were always right, lower with larger recent errors. `None` without forecasts.
pub fn reliability(predicted: &[f64], actual: &[f64], weight: f64) -> Option<f64> {
    let mut errors = predicted.iter().zip(actual).map(|(predicted, actual)| (predicted - actual).abs());
    let first = errors.next()?;
    let average = errors.fold(first, |average, error| average + weight * (error - average));
    average.is_finite().then_some(1.0 / (1.0 + average))
}

/// Tolerance scaled by the reliability of forecasts: unchanged when they are always right and up to doubled when they are
/// useless, so that noise is not taken for progress.
pub fn scaled_tolerance(tolerance: f64, reliability: f64) -> f64 {
    tolerance * (2.0 - reliability.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_history_gives_a_zero_threshold() {
        assert_eq!((adaptive_threshold(&[], 5, 0.1), adaptive_threshold(&[0.3], 5, 0.1)), (0.0, 0.0));
        let wild_then_calm = [9.0, -9.0, 0.1, -0.1, 0.1, -0.1];
        assert!(adaptive_threshold(&wild_then_calm, 4, 0.1) < 0.3);
    }

    #[test]
    fn reliable_forecasts_make_a_smaller_tolerance() {
        let always = reliability(&[1.0, 2.0], &[1.0, 2.0], 0.3).unwrap();
        let seldom = reliability(&[1.0, 2.0], &[3.0, -2.0], 0.3).unwrap();
        assert!(
            always > 0.999 && seldom < 0.5 && scaled_tolerance(0.01, always) < scaled_tolerance(0.01, seldom)
        );
        assert_eq!(reliability(&[], &[], 0.3), None);
        assert_eq!(reliability(&[f64::NAN], &[1.0], 0.3), None);
    }
}
