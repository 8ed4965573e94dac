//! Whether synergy has converged to zero.

use crate::statistics::{LagSelection, adf, equivalence_to_zero, is_constant, levene, slope};
use serde::Serialize;

/// Requirements of convergence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SynergyConvergenceRules {
    /// Distance from zero that still counts as zero.
    pub threshold: f64,
    /// Minimum length of the tested tail of the series, and length of the moving average.
    pub window: usize,
    /// Confidence of the equivalence test.
    pub confidence: f64,
    /// Confidence of the stationarity test.
    pub stationarity_confidence: f64,
    /// Confidence at which a difference of variances counts.
    pub variance_confidence: f64,
}

/// Maximum drift per step, as a share of the threshold.
const DRIFT: f64 = 0.005;
/// Confidence of the drift test. A run repeats the test in each cycle, so even unlikely false positives would occur.
const DRIFT_CONFIDENCE: f64 = 0.9999;
/// Minimum length of a series for which convergence can be shown.
const SHORTEST: usize = 12;

/// One requirement with its measured value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ConvergenceCheck {
    /// Name of the requirement.
    pub name: &'static str,
    /// Measured value.
    pub figure: f64,
    /// Maximum value.
    pub limit: f64,
}

impl ConvergenceCheck {
    /// Whether the requirement is met.
    pub fn holds(&self) -> bool {
        self.figure <= self.limit
    }
}

/// Result of the convergence test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SynergyConvergence {
    /// Whether synergy has converged.
    pub converged: bool,
    /// Length of the tested tail: the one that was closest to convergence.
    pub length: usize,
    /// The requirements; empty for a series that is too short.
    pub checks: Vec<ConvergenceCheck>,
}

/// Tests the tail of a series, and tails of twice the length as far as the series reaches: converged is a series whose
/// tail has converged, independent of earlier values. The significance level is divided by the number of tested tails.
pub fn synergy_converged(values: &[f64], rules: &SynergyConvergenceRules) -> SynergyConvergence {
    let shortest = rules.window.max(SHORTEST);
    let lengths: Vec<usize> = std::iter::successors(Some(shortest), |length| Some(length * 2))
        .take_while(|length| *length <= values.len())
        .collect();
    let doubt = (1.0 - rules.confidence) / lengths.len().max(1) as f64;
    let looked: Vec<SynergyConvergence> = lengths
        .iter()
        .map(|length| {
            let checks = convergence_checks(&values[values.len() - length..], rules, doubt);
            SynergyConvergence {
                converged: checks.iter().all(ConvergenceCheck::holds),
                length: *length,
                checks,
            }
        })
        .collect();
    let best = looked.into_iter().max_by_key(|verdict| {
        (verdict.converged, verdict.checks.iter().filter(|check| check.holds()).count())
    });
    best.unwrap_or(SynergyConvergence { converged: false, length: values.len(), checks: Vec::new() })
}

fn convergence_checks(values: &[f64], rules: &SynergyConvergenceRules, doubt: f64) -> Vec<ConvergenceCheck> {
    let threshold = rules.threshold;
    let average = moving_average(values, rules.window).abs();
    let equivalence = equivalence_to_zero(values, threshold).unwrap_or(1.0);
    // Upper bound of the drift, so that a series that is too short does not pass as converged.
    let drift = slope(values, DRIFT_CONFIDENCE).map_or(f64::INFINITY, |(slope, error)| slope.abs() + error);
    let is_still = is_constant(values);
    let returns =
        if is_still { 0.0 } else { adf(values, LagSelection::Chosen).map_or(1.0, |test| test.p_value) };
    let (first, second) = values.split_at(values.len() / 2);
    // Two constant halves have equal variances.
    let differs = levene(first, second).map_or(0.0, |test| 1.0 - test.p_value);
    vec![
        ConvergenceCheck { name: "moving average", figure: average, limit: threshold },
        ConvergenceCheck { name: "not equivalent to zero (p)", figure: equivalence, limit: doubt },
        ConvergenceCheck { name: "drift per step", figure: drift, limit: DRIFT * threshold },
        ConvergenceCheck {
            name: "not stationary (p)",
            figure: returns,
            limit: 1.0 - rules.stationarity_confidence,
        },
        ConvergenceCheck { name: "variances differ", figure: differs, limit: rules.variance_confidence },
    ]
}

/// Exponential moving average over about `window` values.
pub(crate) fn moving_average(values: &[f64], window: usize) -> f64 {
    let weight = 2.0 / (window as f64 + 1.0);
    let mut values = values.iter();
    let first = values.next().copied().unwrap_or(0.0);
    values.fold(first, |average, value| average + weight * (value - average))
}
