//! Composite score of a patch: several metrics compared with those of earlier patches.

use std::collections::BTreeMap;

use crate::statistics::mean;

/// Number of earlier patches that are compared.
const WINDOW: usize = 50;
/// Minimum number of earlier patches.
const FEWEST: usize = 2;
/// Smaller differences count as zero.
const LITTLE: f64 = 1e-9;

/// Weighted mean of each metric's distance from its mean, in standard deviations. A metric that hardly varies weighs more;
/// metrics in `costs` count negatively. `None` with too little history, or if no metric has a history.
pub fn composite_score(
    current: &BTreeMap<String, f64>,
    history: &[BTreeMap<String, f64>],
    costs: &[&str],
) -> Option<f64> {
    let recent = &history[history.len().saturating_sub(WINDOW)..];
    let (mut sum, mut weights) = (0.0, 0.0);
    for (name, value) in current.iter().filter(|(_, value)| value.is_finite()) {
        let before: Vec<f64> = recent
            .iter()
            .filter_map(|row| row.get(name))
            .copied()
            .filter(|value| value.is_finite())
            .collect();
        if before.len() < FEWEST {
            continue;
        }
        let usual = mean(&before)?;
        let variance =
            before.iter().map(|value| (value - usual).powi(2)).sum::<f64>() / (before.len() - 1) as f64;
        let deviation = variance.sqrt();
        // Without variance only the sign of the difference is known.
        let distance = match value - usual {
            difference if deviation > LITTLE => difference / deviation,
            difference if difference.abs() > LITTLE => difference.signum(),
            _ => 0.0,
        };
        let weight = 1.0 / (1.0 + deviation);
        let sign = if costs.contains(&name.as_str()) { -1.0 } else { 1.0 };
        sum += sign * weight * distance;
        weights += weight;
    }
    (weights > 0.0).then(|| sum / weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(errors: f64, complexity: f64) -> BTreeMap<String, f64> {
        BTreeMap::from([("errors".to_owned(), errors), ("complexity".to_owned(), complexity)])
    }

    fn score(errors: f64, complexity: f64, history: &[BTreeMap<String, f64>]) -> Option<f64> {
        composite_score(&figures(errors, complexity), history, &["complexity"])
    }

    #[test]
    fn more_gain_is_better_and_more_complexity_is_worse() {
        let history: Vec<_> = [0.1, 0.2, 0.3].into_iter().map(|value| figures(value, value * 10.0)).collect();
        let usual = score(0.2, 2.0, &history).unwrap();
        assert!(usual.abs() < 1e-9);
        assert!(score(0.5, 2.0, &history).unwrap() > 0.5);
        assert!(score(0.2, 8.0, &history).unwrap() < -0.5);
    }

    #[test]
    fn too_little_history_gives_no_score() {
        assert_eq!(score(0.5, 1.0, &[]), None);
        assert_eq!(score(0.5, 1.0, &[figures(0.1, 1.0)]), None);
        let history = vec![figures(0.1, 1.0); 3];
        assert_eq!(composite_score(&BTreeMap::from([("other".to_owned(), 1.0)]), &history, &[]), None);
        assert_eq!(score(f64::NAN, f64::NAN, &history), None);
        // A history without variance.
        assert!((score(0.2, 1.0, &history).unwrap() - 0.5).abs() < 1e-9);
    }
}
