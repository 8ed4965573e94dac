//! Ranking of modules by RAROI and confidence.

use serde::Serialize;

use crate::statistics::{mean, variance};

/// Confidence below which a module needs a review.
const REVIEW: f64 = 0.5;

/// A ranked module.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModuleRank {
    /// Path of the module.
    pub name: String,
    /// Its risk-adjusted ROI.
    pub raroi: f64,
    /// Confidence from the accuracy of its forecasts; `None` before the first forecast.
    pub confidence: Option<f64>,
    /// RAROI × confidence; RAROI alone without a confidence.
    pub score: f64,
    /// Whether it needs a human review before automatic changes.
    pub needs_review: bool,
}

/// Confidence from the accuracy of forecasts: lower with larger and more varying errors. `None` without forecasts.
pub fn confidence(predicted: &[f64], actual: &[f64]) -> Option<f64> {
    let errors: Vec<f64> =
        predicted.iter().zip(actual).map(|(predicted, actual)| (predicted - actual).abs()).collect();
    let confidence = 1.0 / (1.0 + mean(&errors)? + variance(&errors).unwrap_or(0.0));
    confidence.is_finite().then_some(confidence)
}

/// Ranks modules by score, the best first; equal scores by name.
pub fn rank(modules: impl IntoIterator<Item = (String, f64, Option<f64>)>) -> Vec<ModuleRank> {
    let mut ranked: Vec<ModuleRank> = modules
        .into_iter()
        .map(|(name, raroi, confidence)| ModuleRank {
            name,
            raroi,
            confidence,
            score: raroi * confidence.unwrap_or(1.0),
            // An unknown confidence counts as low.
            needs_review: confidence.is_none_or(|confidence| confidence < REVIEW),
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.name.cmp(&b.name)));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_with_poor_forecasts_rank_lower_and_need_review() {
        let sure = confidence(&[0.5, 0.6], &[0.5, 0.6]);
        let unsure = confidence(&[0.5, 3.0], &[2.0, -1.0]);
        let ranked = rank([("b".to_owned(), 0.9, unsure), ("a".to_owned(), 0.8, sure)]);
        assert_eq!(
            ranked.iter().map(|one| (one.name.as_str(), one.needs_review)).collect::<Vec<_>>(),
            [("a", false), ("b", true)]
        );
        assert_eq!(confidence(&[], &[]), None);
        assert!(rank([("new".to_owned(), 0.9, None)])[0].needs_review);
    }
}
