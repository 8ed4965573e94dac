//! Numbers that describe many.

/// The mean; nothing of none.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// The variance of what the values are a sample of; nothing of less than two.
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    Some(values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
}

/// The standard deviation of what the values are a sample of; nothing of less than two.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    variance(values).map(f64::sqrt)
}

/// Whether all values are the same, to the last digit. So are none.
#[expect(clippy::float_cmp, reason = "what differs by the least is not the same")]
pub fn is_constant(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

/// The value below which a share of the others is, with what lies between two of them; nothing of none.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, share)
}

/// The same of values that are in order.
pub(crate) fn quantile_of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let between = place.fract();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a place in the values"
    )]
    let below = place as usize;
    let low = *sorted.get(below)?;
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    // As numpy does it, so that it is the same to the last digit.
    Some(if between < 0.5 { low + (high - low) * between } else { high - (high - low) * (1.0 - between) })
}

/// The value in the middle; nothing of none.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The standard deviation of values of which the later ones count more: each `1 − weight` as much as the one after it.
/// Nothing of less than two.
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
    // Without bias, as if the weights were frequencies that are known only up to a factor.
    let freedom = total - squares / total;
    if freedom > 0.0 { Some((spread / freedom).sqrt()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_few_nothing_is_said() {
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
    fn equal_weights_are_the_plain_deviation_and_others_follow_the_end() {
        let values = [1.0, 2.0, 4.0, 3.0];
        let plain = standard_deviation(&values).unwrap();
        assert!((weighted_deviation(&values, 0.0).unwrap() - plain).abs() < 1e-12);
        let calm_at_the_end = [9.0, -9.0, 9.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.1];
        assert!(weighted_deviation(&calm_at_the_end, 0.7).unwrap() < 0.5);
    }
}
