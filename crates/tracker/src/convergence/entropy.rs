//! Entropy plateau: modules whose code changes without a gain, or no longer changes.

use crate::statistics::mean;

/// Rules for calling a module complete.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntropyPlateauRules {
    /// Minimum ROI gain per unit of entropy.
    pub ceiling: f64,
    /// Entropy change up to which a sample counts as unchanged.
    pub plateau: f64,
    /// Number of consecutive samples.
    pub consecutive: usize,
}

/// Reason for calling a module complete.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EntropyPlateau {
    /// The ROI gain per unit of entropy is only this.
    Ceiling(f64),
    /// The entropy stayed within this change.
    Flat(f64),
}

/// Tests samples of (ROI gain, entropy change). `None` for too few samples, or without a plateau.
pub fn entropy_plateau(samples: &[(f64, f64)], rules: &EntropyPlateauRules) -> Option<EntropyPlateau> {
    let start = samples.len().checked_sub(rules.consecutive.max(1))?;
    let last = &samples[start..];
    let largest = last.iter().map(|(_, entropy)| entropy.abs()).fold(0.0, f64::max);
    if largest <= rules.plateau {
        return Some(EntropyPlateau::Flat(largest));
    }
    let ratios: Vec<f64> = last
        .iter()
        .filter(|(_, entropy)| *entropy != 0.0)
        .map(|(gain, entropy)| gain / entropy.abs())
        .collect();
    let ratio = mean(&ratios)?;
    (ratio < rules.ceiling).then_some(EntropyPlateau::Ceiling(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: EntropyPlateauRules = EntropyPlateauRules { ceiling: 0.1, plateau: 0.01, consecutive: 3 };

    #[test]
    fn change_without_gain_and_no_change_are_both_a_plateau() {
        assert_eq!(entropy_plateau(&[(0.1, 0.5), (0.0, 0.5)], &RULES), None);
        assert_eq!(
            entropy_plateau(&[(0.2, 0.005), (0.0, -0.01), (0.0, 0.0)], &RULES),
            Some(EntropyPlateau::Flat(0.01))
        );
        assert!(matches!(
            entropy_plateau(&[(0.01, 0.5), (0.0, 0.5), (0.0, -0.5)], &RULES),
            Some(EntropyPlateau::Ceiling(_))
        ));
        assert_eq!(entropy_plateau(&[(0.5, 0.5), (0.4, 0.5), (0.3, 0.5)], &RULES), None);
    }
}
