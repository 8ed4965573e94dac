//! How much each kind of synergy counts: seven weights, and who learns them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::truth::Ridge;

/// The kinds of synergy that are weighed.
pub const WEIGHED: [&str; 7] =
    ["roi", "efficiency", "resilience", "antifragility", "reliability", "maintainability", "throughput"];

/// The greatest weight.
const GREATEST: f64 = 10.0;
/// Samples that can be learned from.
const FEWEST: usize = 8;

/// The weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SynergyWeights(BTreeMap<String, f64>);

impl Default for SynergyWeights {
    fn default() -> Self {
        Self(WEIGHED.map(|name| (name.to_owned(), 1.0)).into())
    }
}

/// What a cycle showed: synergies by their names, and the change of ROI that came with them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// `synergy_…` without its prefix.
    pub synergy: BTreeMap<String, f64>,
    /// What came of it.
    pub roi_delta: f64,
}

/// Whoever learns weights.
pub trait Learner {
    /// How it is called.
    fn name(&self) -> &'static str;
    /// Weights from all samples and the weights before; nothing if nothing can be learned.
    fn learn(&self, samples: &[Sample], before: &SynergyWeights) -> Option<SynergyWeights>;
}

/// Learns by regression what change of ROI came with each kind of synergy.
#[derive(Debug, Clone, Copy)]
pub struct RegressionLearner {
    /// How far weights move to what was learned, at once.
    pub rate: f64,
}

impl SynergyWeights {
    /// Those of a file's text, or what is wrong with it. Without a version it is the layout of the first editions: the weights
    /// alone.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let weights = value.get("weights").unwrap_or(&value);
        let mut read = Self::default();
        for (name, weight) in weights.as_object().ok_or("it has no weights")? {
            if !weight.as_f64().is_some_and(|weight| read.set(name, weight)) {
                return Err(format!("{name}: {weight} is no weight of {}", WEIGHED.join(", ")));
            }
        }
        Ok(read)
    }

    /// One of them.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(1.0)
    }

    /// Sets one; false if it is none of them, or no weight.
    pub fn set(&mut self, name: &str, weight: f64) -> bool {
        let is_weight = WEIGHED.contains(&name) && (0.0..=GREATEST).contains(&weight);
        if is_weight {
            self.0.insert(name.to_owned(), weight);
        }
        is_weight
    }

    /// All of them, in the order of [`WEIGHED`].
    pub fn all(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        WEIGHED.into_iter().map(|name| (name, self.get(name)))
    }

    /// Synergies together, by their weights; nothing if none was measured.
    pub fn combined(&self, synergy: &BTreeMap<String, f64>) -> Option<f64> {
        let measured: Vec<(f64, f64)> =
            self.all().filter_map(|(name, weight)| Some((weight, *synergy.get(name)?))).collect();
        let total: f64 = measured.iter().map(|(weight, _)| weight).sum();
        (total > 0.0).then(|| measured.iter().map(|(weight, value)| weight * value).sum::<f64>() / total)
    }
}

impl Learner for RegressionLearner {
    fn name(&self) -> &'static str {
        "regression"
    }

    fn learn(&self, samples: &[Sample], before: &SynergyWeights) -> Option<SynergyWeights> {
        let used: Vec<&Sample> = samples
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
        let coefficients = Ridge::fit(&rows, &targets, 0.1)?.coefficients;
        // What does harm counts for nothing; the others together for as much as all of them did at first.
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
    use crate::numbers::Numbers;

    #[test]
    fn both_layouts_are_read_and_what_is_no_weight_is_not() {
        let of = |text: &str| SynergyWeights::read(text).map(|weights| weights.get("roi"));
        assert_eq!(of(r#"{"version": 1, "weights": {"roi": 2.5}}"#), Ok(2.5));
        assert_eq!(of(r#"{"roi": 0.5}"#), Ok(0.5));
        for wrong in ["[]", "{", r#"{"roi": 11}"#, r#"{"roi": "1"}"#, r#"{"weights": {"luck": 1}}"#] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_helps_counts_more() {
        let mut numbers = Numbers(2);
        let samples: Vec<Sample> = (0..40)
            .map(|_| {
                let synergy: BTreeMap<String, f64> =
                    WEIGHED.map(|name| (name.to_owned(), numbers.normal())).into();
                let roi_delta = 2.0 * synergy["resilience"] - synergy["efficiency"] + 0.1 * numbers.normal();
                Sample { synergy, roi_delta }
            })
            .collect();
        let learner = RegressionLearner { rate: 0.5 };
        let weights = learner.learn(&samples, &SynergyWeights::default()).unwrap();
        assert!(weights.get("resilience") > 2.0 && weights.get("efficiency") < 0.6, "{weights:?}");
        assert_eq!(learner.learn(&samples[..3], &weights), None);
    }

    #[test]
    fn only_weights_are_set() {
        let mut weights = SynergyWeights::default();
        assert!(weights.set("roi", 2.0) && !weights.set("luck", 2.0));
        assert!(!weights.set("roi", -1.0) && !weights.set("roi", f64::NAN));
        let synergy = BTreeMap::from([("roi".to_owned(), 0.3), ("efficiency".to_owned(), 0.0)]);
        assert!((weights.combined(&synergy).unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(weights.combined(&BTreeMap::new()), None);
    }
}
