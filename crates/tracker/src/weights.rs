//! Weights of the seven kinds of synergy, and the learner that trains them.

use std::collections::BTreeMap;

use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::truth::RidgeRegression;

/// Kinds of synergy that have a weight.
pub const WEIGHED: [&str; 7] =
    ["roi", "efficiency", "resilience", "antifragility", "reliability", "maintainability", "throughput"];

/// Maximum weight.
const GREATEST: f64 = 10.0;
/// Minimum number of samples for learning.
const FEWEST: usize = 8;

/// Weights of synergy by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SynergyWeights(BTreeMap<String, f64>);

impl Default for SynergyWeights {
    fn default() -> Self {
        Self(WEIGHED.map(|name| (name.to_owned(), 1.0)).into())
    }
}

/// A training sample: the synergies of a cycle and the change of ROI.
#[derive(Debug, Clone, PartialEq)]
pub struct SynergyTrainingSample {
    /// `synergy_…` without its prefix.
    pub synergy: BTreeMap<String, f64>,
    /// Change of ROI.
    pub roi_delta: f64,
}

/// A learner of weights.
pub trait WeightLearner {
    /// Name of the learner.
    fn name(&self) -> &'static str;
    /// Learns new weights from all samples and the present weights; `None` if the samples are insufficient.
    fn learn(&self, samples: &[SynergyTrainingSample], before: &SynergyWeights) -> Option<SynergyWeights>;
}

/// Learns the change of ROI per kind of synergy by ridge regression.
#[derive(Debug, Clone, Copy)]
pub struct RegressionWeightLearner {
    /// Share of the distance to the learned weights that each training moves, 0…1.
    pub rate: f64,
}

/// A text that is not a weights file.
#[derive(Debug, Error)]
pub enum SynergyWeightsError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    Json(#[source] serde_json::Error),
    /// It has no weights.
    #[error("no weights found")]
    NoWeights,
    /// A kind of synergy that is unknown, or a weight out of range.
    #[error("invalid weight {name}={weight}: expected 0 to 10 for one of {}", WEIGHED.join(", "))]
    Weight {
        /// The kind of synergy.
        name: String,
        /// The weight.
        weight: String,
    },
}

impl ErrorDetails for SynergyWeightsError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Json(_) | Self::NoWeights | Self::Weight { .. } => ErrorClass::Usage,
        }
    }
}

impl SynergyWeights {
    /// Parses the text of a weights file. A file without a version has the legacy layout: only the weights.
    pub fn read(text: &str) -> Result<Self, SynergyWeightsError> {
        let value: Value = serde_json::from_str(text).map_err(SynergyWeightsError::Json)?;
        let weights = value.get("weights").unwrap_or(&value);
        let mut read = Self::default();
        for (name, weight) in weights.as_object().ok_or(SynergyWeightsError::NoWeights)? {
            if !weight.as_f64().is_some_and(|weight| read.set(name, weight)) {
                return Err(SynergyWeightsError::Weight { name: name.clone(), weight: weight.to_string() });
            }
        }
        Ok(read)
    }

    /// Weight of a kind of synergy.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(1.0)
    }

    /// Sets a weight; false if the kind is unknown or the weight out of range.
    pub fn set(&mut self, name: &str, weight: f64) -> bool {
        let is_weight = WEIGHED.contains(&name) && (0.0..=GREATEST).contains(&weight);
        if is_weight {
            self.0.insert(name.to_owned(), weight);
        }
        is_weight
    }

    /// All weights, in the order of [`WEIGHED`].
    pub fn all(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        WEIGHED.into_iter().map(|name| (name, self.get(name)))
    }

    /// Weighted mean of synergies; `None` if none was measured.
    pub fn combined(&self, synergy: &BTreeMap<String, f64>) -> Option<f64> {
        let measured: Vec<(f64, f64)> =
            self.all().filter_map(|(name, weight)| Some((weight, *synergy.get(name)?))).collect();
        let total: f64 = measured.iter().map(|(weight, _)| weight).sum();
        (total > 0.0).then(|| measured.iter().map(|(weight, value)| weight * value).sum::<f64>() / total)
    }
}

impl WeightLearner for RegressionWeightLearner {
    fn name(&self) -> &'static str {
        "regression"
    }

    fn learn(&self, samples: &[SynergyTrainingSample], before: &SynergyWeights) -> Option<SynergyWeights> {
        let used: Vec<&SynergyTrainingSample> = samples
            .iter()
            .filter(|sample| {
                sample.roi_delta.is_finite() && sample.synergy.values().all(|value| value.is_finite())
            })
            .collect();
        if used.len() < FEWEST {
            return None;
        }
        let rows: Vec<Vec<f64>> = used
            .iter()
            .map(|sample| {
                WEIGHED.iter().map(|name| sample.synergy.get(*name).copied().unwrap_or(0.0)).collect()
            })
            .collect();
        let targets: Vec<f64> = used.iter().map(|sample| sample.roi_delta).collect();
        let coefficients = RidgeRegression::fit(&rows, &targets, 0.1)?.coefficients;
        // Harmful kinds get weight 0; the others share the initial total weight.
        let useful: Vec<f64> = coefficients.iter().map(|coefficient| coefficient.max(0.0)).collect();
        let total: f64 = useful.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let mut learned = before.clone();
        for (name, useful) in WEIGHED.iter().zip(useful) {
            let target = useful / total * WEIGHED.len() as f64;
            let weight = before.get(name) + self.rate * (target - before.get(name));
            learned.set(name, weight.clamp(0.0, GREATEST));
        }
        Some(learned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_numbers::RandomNumberStream;

    #[test]
    fn both_layouts_are_read_and_invalid_weights_are_rejected() {
        let of = |text: &str| SynergyWeights::read(text).map(|weights| weights.get("roi"));
        assert_eq!(of(r#"{"version": 1, "weights": {"roi": 2.5}}"#).ok(), Some(2.5));
        assert_eq!(of(r#"{"roi": 0.5}"#).ok(), Some(0.5));
        for wrong in ["[]", "{", r#"{"roi": 11}"#, r#"{"roi": "1"}"#, r#"{"weights": {"luck": 1}}"#] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn helpful_synergy_gets_a_higher_weight() {
        let mut numbers = RandomNumberStream(2);
        let samples: Vec<SynergyTrainingSample> = (0..40)
            .map(|_| {
                let synergy: BTreeMap<String, f64> =
                    WEIGHED.map(|name| (name.to_owned(), numbers.normal())).into();
                let roi_delta = 2.0 * synergy["resilience"] - synergy["efficiency"] + 0.1 * numbers.normal();
                SynergyTrainingSample { synergy, roi_delta }
            })
            .collect();
        let learner = RegressionWeightLearner { rate: 0.5 };
        let weights = learner.learn(&samples, &SynergyWeights::default()).unwrap();
        assert!(weights.get("resilience") > 2.0 && weights.get("efficiency") < 0.6, "{weights:?}");
        assert_eq!(learner.learn(&samples[..3], &weights), None);
    }

    #[test]
    fn invalid_weights_are_not_set() {
        let mut weights = SynergyWeights::default();
        assert!(weights.set("roi", 2.0) && !weights.set("luck", 2.0));
        assert!(!weights.set("roi", -1.0) && !weights.set("roi", f64::NAN));
        let synergy = BTreeMap::from([("roi".to_owned(), 0.3), ("efficiency".to_owned(), 0.0)]);
        assert!((weights.combined(&synergy).unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(weights.combined(&BTreeMap::new()), None);
    }
}
