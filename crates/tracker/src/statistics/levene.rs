//! Levene's test of equal variances.

use super::SignificanceTest;
use super::describe::{mean, median};
use super::distribution::fisher_above;

/// Levene's test around the medians (Brown-Forsythe); `None` for fewer than two values per sample, or without variation.
pub fn levene(a: &[f64], b: &[f64]) -> Option<SignificanceTest> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let distances = |values: &[f64]| -> Option<Vec<f64>> {
        let centre = median(values)?;
        Some(values.iter().map(|value| (value - centre).abs()).collect())
    };
    let groups = [distances(a)?, distances(b)?];
    let count = (a.len() + b.len()) as f64;
    let all = groups.iter().flatten().sum::<f64>() / count;
    let (mut between, mut within) = (0.0, 0.0);
    for group in &groups {
        let own = mean(group)?;
        between += group.len() as f64 * (own - all).powi(2);
        within += group.iter().map(|distance| (distance - own).powi(2)).sum::<f64>();
    }
    if within <= 0.0 {
        return None;
    }
    let statistic = (count - 2.0) * between / within;
    Some(SignificanceTest { statistic, p_value: fisher_above(statistic, 1.0, count - 2.0) })
}
