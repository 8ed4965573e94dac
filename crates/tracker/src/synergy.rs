//! What parts are together, compared with what they are alone.

/// A metric together minus the mean of the metric alone; nothing when one of them was not measured.
pub fn synergy(together: Option<f64>, alone: &[Option<f64>]) -> Option<f64> {
    let alone: Vec<f64> = alone.iter().copied().collect::<Option<_>>()?;
    if alone.is_empty() {
        return None;
    }
    Some(together? - alone.iter().sum::<f64>() / alone.len() as f64)
}

/// Robustness together minus the product of the parts: what is left when the parts fail independently is no synergy.
pub fn robustness_synergy(together: Option<f64>, alone: &[Option<f64>]) -> Option<f64> {
    let alone: Vec<f64> = alone.iter().copied().collect::<Option<_>>()?;
    if alone.is_empty() {
        return None;
    }
    Some(together? - alone.iter().product::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_do_not_meet_have_none() {
        let close = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-12;
        assert!(close(robustness_synergy(Some(0.45), &[Some(0.9), Some(0.5)]), 0.0));
        assert!(close(synergy(Some(0.7), &[Some(0.9), Some(0.5)]), 0.0));
        assert!(close(synergy(Some(0.2), &[Some(0.9), Some(0.5)]), -0.5));
    }

    #[test]
    fn what_was_not_measured_is_not_made_up() {
        assert_eq!(synergy(None, &[Some(1.0)]), None);
        assert_eq!(synergy(Some(1.0), &[Some(1.0), None]), None);
        assert_eq!(robustness_synergy(Some(1.0), &[]), None);
    }
}
