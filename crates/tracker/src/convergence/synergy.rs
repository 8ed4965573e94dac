//! Whether synergy has come to rest at nothing.

use crate::statistics::{Lags, adf, equivalence_to_zero, is_constant, levene, slope};

/// What is asked of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SynergyRules {
    /// How far from nothing still is nothing.
    pub threshold: f64,
    /// The shortest end of the series that is looked at, and the length of the moving average.
    pub window: usize,
    /// How sure equivalence and the absence of a trend have to be.
    pub confidence: f64,
    /// How sure it has to be that the series returns to its level.
    pub stationarity_confidence: f64,
    /// How sure a difference of variances has to be to count.
    pub variance_confidence: f64,
}

/// A drift is none if it certainly is less than this share of the threshold in each step.
const DRIFT: f64 = 0.005;
/// How sure that is. A run looks again in each cycle, so that even what is unlikely would happen to it.
const DRIFT_CONFIDENCE: f64 = 0.9999;
/// The shortest end of a series of which anything can be shown.
const SHORTEST: usize = 12;

/// One thing that was asked, with its figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// The figure.
    pub figure: f64,
    /// What it has to be at most.
    pub limit: f64,
}

impl Check {
    /// Whether it holds.
    pub fn holds(&self) -> bool {
        self.figure <= self.limit
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SynergyVerdict {
    /// Whether it has come to rest.
    pub converged: bool,
    /// How many of the last values were looked at; the end of the series that was closest to rest.
    pub length: usize,
    /// What was asked. Nothing of a series that is too short.
    pub checks: Vec<Check>,
}

/// Looks at the end of a series, and at ends twice as long, as far as there is one: at rest is what is at rest for long
/// enough, whatever was before. The more ends are looked at, the more sure each has to be.
pub fn synergy_converged(values: &[f64], rules: &SynergyRules) -> SynergyVerdict {
    let shortest = rules.window.max(SHORTEST);
    let lengths: Vec<usize> = std::iter::successors(Some(shortest), |length| Some(length * 2))
        .take_while(|length| *length <= values.len())
        .collect();
    let doubt = (1.0 - rules.confidence) / lengths.len().max(1) as f64;
    let looked: Vec<SynergyVerdict> = lengths
        .iter()
        .map(|length| {
            let checks = look(&values[values.len() - length..], rules, doubt);
            SynergyVerdict { converged: checks.iter().all(Check::holds), length: *length, checks }
        })
        .collect();
    let best = looked.into_iter().max_by_key(|verdict| {
        (verdict.converged, verdict.checks.iter().filter(|check| check.holds()).count())
    });
    best.unwrap_or(SynergyVerdict { converged: false, length: values.len(), checks: Vec::new() })
}

fn look(values: &[f64], rules: &SynergyRules, doubt: f64) -> Vec<Check> {
    let threshold = rules.threshold;
    let average = moving_average(values, rules.window).abs();
    let equivalence = equivalence_to_zero(values, threshold).unwrap_or(1.0);
    // The furthest that the drift may be, so that a series too short to show anything does not show rest.
    let drift = slope(values, DRIFT_CONFIDENCE).map_or(f64::INFINITY, |(slope, error)| slope.abs() + error);
    let is_still = is_constant(values);
    let returns = if is_still { 0.0 } else { adf(values, Lags::Chosen).map_or(1.0, |test| test.p_value) };
    let (first, second) = values.split_at(values.len() / 2);
    // Halves of which both are still vary as much.
    let differs = levene(first, second).map_or(0.0, |test| 1.0 - test.p_value);
    vec![
        Check { name: "moving average", figure: average, limit: threshold },
        Check { name: "not equivalent to zero (p)", figure: equivalence, limit: doubt },
        Check { name: "drift in a step", figure: drift, limit: DRIFT * threshold },
        Check { name: "does not return (p)", figure: returns, limit: 1.0 - rules.stationarity_confidence },
        Check { name: "variances differ", figure: differs, limit: rules.variance_confidence },
    ]
}

/// The exponential moving average over about as many values.
pub(crate) fn moving_average(values: &[f64], window: usize) -> f64 {
    let weight = 2.0 / (window as f64 + 1.0);
    let mut values = values.iter();
    let first = values.next().copied().unwrap_or(0.0);
    values.fold(first, |average, value| average + weight * (value - average))
}
