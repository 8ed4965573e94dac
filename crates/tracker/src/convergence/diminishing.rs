//! Diminishing gains of a module.

use crate::statistics::{mean, standard_deviation};

/// Trend of the last changes of a module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GainTrend {
    /// There are fewer changes than required.
    TooFew,
    /// The changes are still large, on average or from cycle to cycle.
    Changing {
        /// Mean of the last changes.
        mean: f64,
        /// Their standard deviation.
        deviation: f64,
    },
    /// Every change is a gain greater than the one before.
    Accelerating,
    /// The changes are small and steady.
    Diminishing {
        /// Mean of the last changes.
        mean: f64,
        /// Their standard deviation.
        deviation: f64,
    },
}

/// Tests the last `consecutive` changes: they are diminishing if their mean is within the threshold and their standard
/// deviation below `epsilon`. Growing gains are never diminishing, however small they are.
pub fn diminishing(deltas: &[f64], consecutive: usize, threshold: f64, epsilon: f64) -> GainTrend {
    let Some(start) = deltas.len().checked_sub(consecutive.max(2)) else { return GainTrend::TooFew };
    let last = &deltas[start..];
    let (Some(mean), Some(deviation)) = (mean(last), standard_deviation(last)) else {
        return GainTrend::TooFew;
    };
    if is_accelerating(last) {
        return GainTrend::Accelerating;
    }
    if mean.abs() <= threshold && deviation < epsilon {
        GainTrend::Diminishing { mean, deviation }
    } else {
        GainTrend::Changing { mean, deviation }
    }
}

/// Whether each change is a gain, and greater than the one before.
fn is_accelerating(deltas: &[f64]) -> bool {
    deltas.iter().all(|delta| *delta > 0.0) && deltas.windows(2).all(|pair| pair[1] > pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_steady_changes_are_diminishing_and_growing_ones_are_not() {
        let of = |deltas: &[f64]| diminishing(deltas, 3, 0.01, 0.01);
        assert_eq!(of(&[0.0, 0.0]), GainTrend::TooFew);
        assert!(matches!(of(&[0.5, 0.001, -0.001, 0.002]), GainTrend::Diminishing { .. }));
        assert!(matches!(of(&[0.05, 0.05, 0.05]), GainTrend::Changing { .. }));
        assert!(matches!(of(&[0.3, -0.3, 0.0]), GainTrend::Changing { .. }));
        assert_eq!(of(&[0.001, 0.002, 0.003]), GainTrend::Accelerating);
    }
}
