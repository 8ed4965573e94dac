//! Pearson correlation, and the slope of a series.

use super::describe::mean;
use super::distribution::{student_above, student_quantile};

/// A correlation with its significance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PearsonCorrelation {
    /// Pearson's coefficient.
    pub coefficient: f64,
    /// Two-sided p-value.
    pub p_value: f64,
}

/// Correlation of pairs; `None` for fewer than three pairs, or if one side is constant.
pub fn correlation(a: &[f64], b: &[f64]) -> Option<PearsonCorrelation> {
    if a.len() != b.len() || a.len() < 3 {
        return None;
    }
    let (mean_a, mean_b) = (mean(a)?, mean(b)?);
    // Scaled before squaring, so that huge and tiny values neither overflow nor underflow.
    let size =
        |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
    let (size_a, size_b) = (size(a, mean_a), size(b, mean_b));
    if !(size_a > 0.0 && size_b > 0.0) {
        return None;
    }
    let (mut product, mut squares_a, mut squares_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = ((a - mean_a) / size_a, (b - mean_b) / size_b);
        product += a * b;
        squares_a += a * a;
        squares_b += b * b;
    }
    let coefficient = (product / (squares_a.sqrt() * squares_b.sqrt())).clamp(-1.0, 1.0);
    let freedom = (a.len() - 2) as f64;
    // (1 − r)(1 + r) instead of 1 − r², which loses its digits when r is close to ±1.
    let statistic =
        coefficient.abs() * (freedom / ((1.0 - coefficient.abs()) * (1.0 + coefficient.abs()))).sqrt();
    let p_value = if statistic.is_finite() { 2.0 * student_above(statistic, freedom) } else { 0.0 };
    Some(PearsonCorrelation { coefficient, p_value: p_value.min(1.0) })
}

/// Slope of a series per step, and the half-width of its confidence interval; `None` for fewer than three values.
pub fn slope(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    if values.len() < 3 {
        return None;
    }
    let n = values.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let mean = mean(values)?;
    let spread = n * (n * n - 1.0) / 12.0;
    let product: f64 =
        values.iter().enumerate().map(|(at, value)| (at as f64 - middle) * (value - mean)).sum();
    let slope = product / spread;
    let rest: f64 = values
        .iter()
        .enumerate()
        .map(|(at, value)| (value - mean - slope * (at as f64 - middle)).powi(2))
        .sum();
    let error = (rest / (n - 2.0) / spread).sqrt();
    Some((slope, student_quantile(0.5 + confidence / 2.0, n - 2.0) * error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_has_an_exact_slope() {
        let (slope, doubt) = slope(&[1.0, 3.0, 5.0, 7.0], 0.95).unwrap();
        assert!((slope - 2.0).abs() < 1e-12 && doubt < 1e-9, "{slope} {doubt}");
        assert_eq!(super::slope(&[1.0, 2.0], 0.95), None);
        assert_eq!(correlation(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
    }
}
