//! Student's t tests and the equivalence test.

use super::describe::{mean, variance};
use super::distribution::student_above;

/// Result of a significance test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignificanceTest {
    /// Test statistic.
    pub statistic: f64,
    /// Two-sided p-value.
    pub p_value: f64,
}

/// Tests whether the mean of a sample is zero; `None` for fewer than two values, or if all are equal.
pub fn one_sample(values: &[f64]) -> Option<SignificanceTest> {
    let (statistic, freedom) = t_of(values, 0.0)?;
    Some(two_sided(statistic, freedom))
}

/// Welch's test: whether two samples with possibly different variances have the same mean.
pub fn welch(a: &[f64], b: &[f64]) -> Option<SignificanceTest> {
    let share = |values: &[f64]| Some(variance(values)? / values.len() as f64);
    let (of_a, of_b) = (share(a)?, share(b)?);
    let both = of_a + of_b;
    if both <= 0.0 {
        return None;
    }
    let freedom_of = |share: f64, values: &[f64]| share * share / (values.len() - 1) as f64;
    let freedom = both * both / (freedom_of(of_a, a) + freedom_of(of_b, b));
    Some(two_sided((mean(a)? - mean(b)?) / both.sqrt(), freedom))
}

/// Paired test: whether the mean difference of pairs is zero; `None` for unequal lengths.
pub fn paired(a: &[f64], b: &[f64]) -> Option<SignificanceTest> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    one_sample(&differences)
}

/// p-value of the equivalence test (two one-sided tests) that the mean is within `margin` of zero. For equal values it is
/// exactly 0 or 1. `None` for fewer than two values.
pub fn equivalence_to_zero(values: &[f64], margin: f64) -> Option<f64> {
    if values.len() >= 2 && variance(values)? == 0.0 {
        return Some(if mean(values)?.abs() < margin { 0.0 } else { 1.0 });
    }
    let (above_low, freedom) = t_of(values, -margin)?;
    let (below_high, _) = t_of(values, margin)?;
    Some(student_above(above_low, freedom).max(student_above(-below_high, freedom)))
}

/// t statistic of the mean against a value, and the degrees of freedom.
fn t_of(values: &[f64], from: f64) -> Option<(f64, f64)> {
    let error = (variance(values)? / values.len() as f64).sqrt();
    if error <= 0.0 {
        return None;
    }
    Some(((mean(values)? - from) / error, (values.len() - 1) as f64))
}

fn two_sided(statistic: f64, freedom: f64) -> SignificanceTest {
    SignificanceTest { statistic, p_value: (2.0 * student_above(statistic.abs(), freedom)).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalence_to_zero_must_be_shown() {
        let few = [0.4, -0.5];
        let many: Vec<f64> = (0..40).map(|number| if number % 2 == 0 { 0.4 } else { -0.4 }).collect();
        assert!(equivalence_to_zero(&few, 0.2).unwrap() > 0.05);
        assert!(equivalence_to_zero(&many, 0.2).unwrap() < 0.01);
        assert_eq!(equivalence_to_zero(&[0.1, 0.1], 0.2), Some(0.0));
        assert_eq!(equivalence_to_zero(&[0.2, 0.2], 0.2), Some(1.0));
        assert_eq!(equivalence_to_zero(&[0.0], 0.2), None);
    }
}
