//! Synergy: the difference between workflows together and alone.

/// Metric together − mean of the metric alone; `None` when one of them was not measured.
pub fn synergy(together: Option<f64>, alone: &[Option<f64>]) -> Option<f64> {
    let alone: Vec<f64> = alone.iter().copied().collect::<Option<_>>()?;
    if alone.is_empty() {
        return None;
    }
    Some(together? - alone.iter().sum::<f64>() / alone.len() as f64)
}

/// Robustness together − product of the robustness alone: independent failures of the parts are not synergy. `None` when
/// one of them was not measured.
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
    fn independent_parts_have_no_synergy() {
        let close = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-12;
        assert!(close(robustness_synergy(Some(0.45), &[Some(0.9), Some(0.5)]), 0.0));
        assert!(close(synergy(Some(0.7), &[Some(0.9), Some(0.5)]), 0.0));
        assert!(close(synergy(Some(0.2), &[Some(0.9), Some(0.5)]), -0.5));
    }

    #[test]
    fn synergy_of_unmeasured_parts_is_unknown() {
        assert_eq!(synergy(None, &[Some(1.0)]), None);
        assert_eq!(synergy(Some(1.0), &[Some(1.0), None]), None);
        assert_eq!(robustness_synergy(Some(1.0), &[]), None);
    }
}
