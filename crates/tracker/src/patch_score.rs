//! How a patch compares with those before it: one number from several figures.

use std::collections::BTreeMap;

use crate::statistics::mean;

/// Patches that are looked back at.
const WINDOW: usize = 50;
/// Patches before which nothing can be compared.
const FEWEST: usize = 2;
/// A difference that is none.
const LITTLE: f64 = 1e-9;

/// The weighted mean of how far each figure is from what is usual, in standard deviations. A figure that hardly varies counts
/// for more; those in `costs` count against. Nothing with too little history, or if nothing is known of any figure.
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
        // What never varied is told apart by its sign alone.
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
    fn nothing_is_said_of_too_little() {
        assert_eq!(score(0.5, 1.0, &[]), None);
        assert_eq!(score(0.5, 1.0, &[figures(0.1, 1.0)]), None);
        let history = vec![figures(0.1, 1.0); 3];
        assert_eq!(composite_score(&BTreeMap::from([("other".to_owned(), 1.0)]), &history, &[]), None);
        assert_eq!(score(f64::NAN, f64::NAN, &history), None);
        // What never varied.
        assert!((score(0.2, 1.0, &history).unwrap() - 0.5).abs() < 1e-9);
    }
}
