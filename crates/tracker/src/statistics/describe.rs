//! Descriptive statistics.

/// Mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// Unbiased sample variance; `None` for fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    Some(values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
}

/// Sample standard deviation; `None` for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    variance(values).map(f64::sqrt)
}

/// Whether all values are exactly equal; true without values.
#[expect(clippy::float_cmp, reason = "exact equality is intended")]
pub fn is_constant(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

/// Quantile with linear interpolation; `None` without values.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, share)
}

/// Quantile of sorted values.
pub(crate) fn quantile_of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let between = place.fract();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the position is within the slice"
    )]
    let below = place as usize;
    let low = *sorted.get(below)?;
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    // The same formula as numpy, so that the results agree to the last digit.
    Some(if between < 0.5 { low + (high - low) * between } else { high - (high - low) * (1.0 - between) })
}

/// Median; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Standard deviation with exponential weights: each value weighs `1 − weight` times as much as the next one. `None` for
/// fewer than two values.
pub fn weighted_deviation(values: &[f64], weight: f64) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let keep = 1.0 - weight.clamp(0.0, 1.0);
    let (mut total, mut squares, mut sum, mut share) = (0.0, 0.0, 0.0, 1.0);
    for value in values.iter().rev() {
        total += share;
        squares += share * share;
        sum += share * value;
        share *= keep;
    }
    let mean = sum / total;
    let mut spread = 0.0;
    share = 1.0;
    for value in values.iter().rev() {
        spread += share * (value - mean).powi(2);
        share *= keep;
    }
    // Unbiased for reliability weights.
    let freedom = total - squares / total;
    if freedom > 0.0 { Some((spread / freedom).sqrt()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_values_have_no_result() {
        assert_eq!(
            (mean(&[]), variance(&[1.0]), median(&[]), weighted_deviation(&[1.0], 0.5)),
            (None, None, None, None)
        );
        assert_eq!(
            (mean(&[1.0, 2.0]), variance(&[1.0, 3.0]), median(&[4.0, 1.0])),
            (Some(1.5), Some(2.0), Some(2.5))
        );
    }

    #[test]
    fn equal_weights_give_the_plain_deviation_and_others_follow_the_end() {
        let values = [1.0, 2.0, 4.0, 3.0];
        let plain = standard_deviation(&values).unwrap();
        assert!((weighted_deviation(&values, 0.0).unwrap() - plain).abs() < 1e-12);
        let calm_at_the_end = [9.0, -9.0, 9.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.1];
        assert!(weighted_deviation(&calm_at_the_end, 0.7).unwrap() < 0.5);
    }
}
