use proptest::prelude::*;

use super::*;
use crate::random_numbers::RandomNumberStream;

const RULES: SynergyConvergenceRules = SynergyConvergenceRules {
    threshold: 1.0,
    window: 8,
    confidence: 0.95,
    stationarity_confidence: 0.95,
    variance_confidence: 0.99,
};

/// The first cycle at which a series has converged, if it converges at all.
fn converges_at(values: &[f64], rules: &SynergyConvergenceRules) -> Option<usize> {
    (rules.window..=values.len()).find(|length| synergy_converged(&values[..*length], rules).converged)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn noise_around_zero_converges(seed: u64, threshold in 1e-4..1e2_f64, share in 0.001..0.2_f64) {
        let mut numbers = RandomNumberStream(seed);
        let values: Vec<f64> = (0..256).map(|_| share * threshold * numbers.normal()).collect();
        let rules = SynergyConvergenceRules { threshold, ..RULES };
        let mut looks = (32..=256).step_by(16);
        prop_assert!(looks.any(|length| synergy_converged(&values[..length], &rules).converged));
    }

    #[test]
    fn steady_drift_never_converges(seed: u64, threshold in 1e-4..1e2_f64, noise in 0.0..0.1_f64, up: bool) {
        // One percent of the threshold per step, until the series leaves the threshold.
        let mut numbers = RandomNumberStream(seed);
        let step = if up { 0.01 } else { -0.01 } * threshold;
        let values: Vec<f64> =
            (0..100).map(|at| step * f64::from(at) + noise * threshold * numbers.normal()).collect();
        let rules = SynergyConvergenceRules { threshold, ..RULES };
        for length in [8, 12, 16, 24, 32, 48, 64, 80, 100] {
            let verdict = synergy_converged(&values[..length], &rules);
            prop_assert!(!verdict.converged, "after {length}: {verdict:?}");
        }
    }

    #[test]
    fn growing_gains_never_stop_a_run(
        first in 1e-9..0.1_f64,
        factor in 1.000_001..1.5_f64,
        consecutive in 2_usize..12,
        threshold in 0.0..1.0_f64,
    ) {
        let mut delta = first;
        let deltas: Vec<f64> = std::iter::repeat_with(|| { delta *= factor; delta }).take(40).collect();
        for length in 0..=deltas.len() {
            let found = diminishing(&deltas[..length], consecutive, threshold, 1.0);
            let has_stopped = matches!(found, GainTrend::Diminishing { .. });
            prop_assert!(!has_stopped, "{found:?} after {length}");
        }
    }

    #[test]
    fn noise_around_zero_is_diminishing(seed: u64, threshold in 1e-4..1e2_f64) {
        let mut numbers = RandomNumberStream(seed);
        let deltas: Vec<f64> = (0..200).map(|_| 0.1 * threshold * numbers.normal()).collect();
        let stops = (5..=200).any(|length| {
            matches!(diminishing(&deltas[..length], 5, threshold, threshold), GainTrend::Diminishing { .. })
        });
        prop_assert!(stops);
    }
}

#[test]
fn values_before_convergence_do_not_matter() {
    let mut numbers = RandomNumberStream(3);
    let values: Vec<f64> =
        (0..80).map(|at| if at < 16 { 5.0 - f64::from(at) * 0.3 } else { 0.02 * numbers.normal() }).collect();
    assert_eq!(converges_at(&values[..16], &RULES), None);
    let at = converges_at(&values, &RULES).unwrap();
    assert!((24..=60).contains(&at), "{at}");
}

#[test]
fn short_series_do_not_converge() {
    for values in [&[][..], &[0.0], &[0.0, 0.0, 0.0]] {
        let verdict = synergy_converged(values, &RULES);
        assert!(!verdict.converged && verdict.checks.is_empty());
    }
    assert!(synergy_converged(&[0.0; 12], &RULES).converged, "twelve zeros are converged");
}
