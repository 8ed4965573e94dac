//! Confidence intervals of proportions, and medians.

/// The Wilson interval at 95 % of `successes` out of `count`.
pub fn wilson(successes: usize, count: usize) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    if count == 0 {
        return (0.0, 1.0);
    }
    let n = count as f64;
    let share = successes as f64 / n;
    let denominator = 1.0 + Z * Z / n;
    let centre = (share + Z * Z / (2.0 * n)) / denominator;
    let half = Z / denominator * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// Median; of an even number of values the lower one of the middle two. `None` for no values.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_one_of_the_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(1.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn the_interval_is_wilsons() {
        // statsmodels.stats.proportion.proportion_confint(38, 40, method="wilson")
        let (low, high) = wilson(38, 40);
        assert!((low - 0.834_961).abs() < 1e-4 && (high - 0.986_180).abs() < 1e-4, "{low} {high}");
        assert_eq!(wilson(0, 0), (0.0, 1.0));
        assert!(wilson(5, 5).1 <= 1.0 && wilson(0, 5).0 >= 0.0);
    }
}
