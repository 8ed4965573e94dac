//! Student's tests.

use super::describe::{mean, variance};
use super::distribution::student_above;

/// What a test says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// The value that is compared.
    pub statistic: f64,
    /// How often chance alone gives as much, to either side.
    pub p_value: f64,
}

/// Whether the mean of a sample is zero; nothing of less than two values, or of values that are all the same.
pub fn one_sample(values: &[f64]) -> Option<Test> {
    let (statistic, freedom) = t_of(values, 0.0)?;
    Some(two_sided(statistic, freedom))
}

/// Whether two samples have the same mean, when their variances may differ.
pub fn welch(a: &[f64], b: &[f64]) -> Option<Test> {
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

/// Whether the differences of pairs are zero; nothing if there are not as many of both.
pub fn paired(a: &[f64], b: &[f64]) -> Option<Test> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    one_sample(&differences)
}

/// How sure one cannot be that the mean is within `margin` of zero: the greater p value of the two one-sided tests. Values
/// that are all the same are where they are, without doubt. Nothing of less than two.
pub fn equivalence_to_zero(values: &[f64], margin: f64) -> Option<f64> {
    if values.len() >= 2 && variance(values)? == 0.0 {
        return Some(if mean(values)?.abs() < margin { 0.0 } else { 1.0 });
    }
    let (above_low, freedom) = t_of(values, -margin)?;
    let (below_high, _) = t_of(values, margin)?;
    Some(student_above(above_low, freedom).max(student_above(-below_high, freedom)))
}

/// How far the mean is from a value, in standard errors, and the degrees of freedom.
fn t_of(values: &[f64], from: f64) -> Option<(f64, f64)> {
    let error = (variance(values)? / values.len() as f64).sqrt();
    if error <= 0.0 {
        return None;
    }
    Some(((mean(values)? - from) / error, (values.len() - 1) as f64))
}

fn two_sided(statistic: f64, freedom: f64) -> Test {
    Test { statistic, p_value: (2.0 * student_above(statistic.abs(), freedom)).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn being_near_zero_has_to_be_shown() {
        let few = [0.4, -0.5];
        let many: Vec<f64> = (0..40).map(|number| if number % 2 == 0 { 0.4 } else { -0.4 }).collect();
        assert!(equivalence_to_zero(&few, 0.2).unwrap() > 0.05);
        assert!(equivalence_to_zero(&many, 0.2).unwrap() < 0.01);
        assert_eq!(equivalence_to_zero(&[0.1, 0.1], 0.2), Some(0.0));
        assert_eq!(equivalence_to_zero(&[0.2, 0.2], 0.2), Some(1.0));
        assert_eq!(equivalence_to_zero(&[0.0], 0.2), None);
    }
}
