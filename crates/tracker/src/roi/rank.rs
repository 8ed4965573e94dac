//! What to look at first.

use serde::Serialize;

use crate::statistics::{mean, variance};

/// Below this, somebody should look at it first.
const REVIEW: f64 = 0.5;

/// One of many, in its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// What.
    pub name: String,
    /// Its ROI with its risks.
    pub raroi: f64,
    /// How well it could be forecast; nothing before the first forecast.
    pub confidence: Option<f64>,
    /// Both together; its ROI alone as long as nothing is known about how sure it is.
    pub score: f64,
    /// Whether somebody should look at it before anything is done by itself.
    pub needs_review: bool,
}

/// How well something could be forecast: less, the more forecasts erred and the more errors vary. Nothing was wrong before the
/// first forecast, and nothing right.
pub fn confidence(predicted: &[f64], actual: &[f64]) -> Option<f64> {
    let errors: Vec<f64> =
        predicted.iter().zip(actual).map(|(predicted, actual)| (predicted - actual).abs()).collect();
    let confidence = 1.0 / (1.0 + mean(&errors)? + variance(&errors).unwrap_or(0.0));
    confidence.is_finite().then_some(confidence)
}

/// The best first; those of one score by their names.
pub fn rank(modules: impl IntoIterator<Item = (String, f64, Option<f64>)>) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = modules
        .into_iter()
        .map(|(name, raroi, confidence)| Ranked {
            name,
            raroi,
            confidence,
            score: raroi * confidence.unwrap_or(1.0),
            // What is not known to be sure is not.
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
    fn what_could_not_be_forecast_comes_later_and_is_looked_at() {
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
