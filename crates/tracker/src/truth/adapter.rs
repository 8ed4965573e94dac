//! Training, prediction and drift detection of the truth adapter.

use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{GradientBoosting, RidgeRegression};
use crate::statistics::{kolmogorov_smirnov, mean, population_stability};

/// Version of the file format.
const VERSION: u32 = 1;
/// Minimum number of pairs for training.
const FEWEST: usize = 20;
/// Folds of the cross-validation.
const PARTS: usize = 5;
const ALPHAS: [f64; 5] = [1e-3, 1e-2, 1e-1, 1.0, 10.0];
/// Population stability index above which a feature has drifted, if the p-value is also below `LEAST_P_VALUE`.
const MOST_STABILITY_INDEX: f64 = 0.25;
const LEAST_P_VALUE: f64 = 0.01;
const BINS: usize = 10;
/// Number of training values kept per feature for drift detection.
const KEPT: usize = 200;

/// A model learned from pairs of features and observed ROI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TruthAdapter {
    /// Version of the file format.
    pub version: u32,
    /// Names of the features.
    pub features: Vec<String>,
    model: TruthModel,
    /// Mean absolute error in cross-validation.
    pub validation_error: f64,
    /// Mean absolute error of predicting the mean.
    pub mean_error: f64,
    /// Number of training pairs.
    pub pairs: usize,
    /// Training values of each feature.
    seen: Vec<Vec<f64>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TruthModel {
    Ridge(RidgeRegression),
    Boosting(GradientBoosting),
}

/// A prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TruthPrediction {
    /// Predicted ROI.
    pub value: f64,
    /// Reason for low confidence, if any.
    pub low_confidence: Option<String>,
}

/// Drift of a feature.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureDrift {
    /// Name of the feature.
    pub feature: String,
    /// Population stability index.
    pub stability_index: f64,
    /// p-value of the Kolmogorov-Smirnov test.
    pub p_value: f64,
    /// Whether the feature has drifted from its training values.
    pub has_drifted: bool,
}

/// A failed training, or a model that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TruthAdapterError {
    /// Too few pairs.
    #[error("too few pairs to train: {0} of at least {FEWEST}")]
    TooFew(usize),
    /// A pair with missing or invalid values.
    #[error("pair {0} has the wrong number of features, or a value that is not finite")]
    Row(usize),
    /// A model of another version.
    #[error("unsupported model version {0}: this menace reads version {VERSION}")]
    Version(u32),
    /// No model could be fitted.
    #[error("no model could be fitted to these pairs")]
    Unsolvable,
}

impl ErrorDetails for TruthAdapterError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::TooFew(_) | Self::Row(_) | Self::Version(_) | Self::Unsolvable => ErrorClass::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Version(_) => Some("retrain the model".into()),
            Self::TooFew(_) | Self::Row(_) | Self::Unsolvable => None,
        }
    }
}

impl TruthAdapter {
    /// Trains a model. Ridge regression and gradient boosting are compared by cross-validation, and the better one is fitted
    /// to all pairs.
    pub fn train(features: &[String], rows: &[Vec<f64>], targets: &[f64]) -> Result<Self, TruthAdapterError> {
        check(features, rows, targets)?;
        let ridge = |alpha: f64| {
            move |rows: &[Vec<f64>], targets: &[f64]| {
                RidgeRegression::fit(rows, targets, alpha).map(TruthModel::Ridge)
            }
        };
        let boosting = |rows: &[Vec<f64>], targets: &[f64]| {
            GradientBoosting::fit(rows, targets).map(TruthModel::Boosting)
        };
        let of_ridge =
            ALPHAS.iter().filter_map(|alpha| Some((Some(*alpha), validate(rows, targets, ridge(*alpha))?)));
        let of_boosting = validate(rows, targets, boosting).map(|error| (None, error));
        let best = of_ridge.chain(of_boosting).min_by(|(_, a), (_, b)| a.total_cmp(b));
        let (alpha, validation_error) = best.ok_or(TruthAdapterError::Unsolvable)?;
        let model = match alpha {
            Some(alpha) => ridge(alpha)(rows, targets),
            None => boosting(rows, targets),
        };
        let centre = mean(targets).unwrap_or(0.0);
        let mean_error =
            targets.iter().map(|target| (target - centre).abs()).sum::<f64>() / targets.len() as f64;
        let seen =
            (0..features.len()).map(|at| rows.iter().rev().take(KEPT).map(|row| row[at]).collect()).collect();
        Ok(Self {
            version: VERSION,
            features: features.to_vec(),
            model: model.ok_or(TruthAdapterError::Unsolvable)?,
            validation_error,
            mean_error,
            pairs: rows.len(),
            seen,
        })
    }

    /// Rejects a model of another version.
    pub fn check_version(self) -> Result<Self, TruthAdapterError> {
        if self.version == VERSION { Ok(self) } else { Err(TruthAdapterError::Version(self.version)) }
    }

    /// Name of the model.
    pub fn kind(&self) -> &'static str {
        match self.model {
            TruthModel::Ridge(_) => "ridge",
            TruthModel::Boosting(_) => "gradient boosting",
        }
    }

    /// Predicts the ROI, with a reason if the confidence is low.
    pub fn predict(&self, row: &[f64], recent: &[Vec<f64>]) -> TruthPrediction {
        let value = match &self.model {
            TruthModel::Ridge(model) => model.predict(row),
            TruthModel::Boosting(model) => model.predict(row),
        };
        let drifted: Vec<String> = self
            .drift(recent)
            .into_iter()
            .filter(|drift| drift.has_drifted)
            .map(|drift| drift.feature)
            .collect();
        let low_confidence = if self.validation_error >= self.mean_error {
            Some("the model is no better than predicting the mean".to_owned())
        } else if !drifted.is_empty() {
            Some(format!("drifted from the training data: {}", drifted.join(", ")))
        } else {
            None
        };
        TruthPrediction { value, low_confidence }
    }

    /// Drift of each feature in recent rows; empty for too few rows.
    pub fn drift(&self, recent: &[Vec<f64>]) -> Vec<FeatureDrift> {
        if recent.len() < BINS {
            return Vec::new();
        }
        let of = |(at, name): (usize, &String)| {
            let now: Vec<f64> = recent.iter().filter_map(|row| row.get(at).copied()).collect();
            let seen = self.seen.get(at)?;
            let stability_index = population_stability(seen, &now, BINS)?;
            let p_value = kolmogorov_smirnov(seen, &now)?.p_value;
            // With few rows the index alone is large by chance.
            let has_drifted = stability_index > MOST_STABILITY_INDEX && p_value < LEAST_P_VALUE;
            Some(FeatureDrift { feature: name.clone(), stability_index, p_value, has_drifted })
        };
        self.features.iter().enumerate().filter_map(of).collect()
    }
}

fn check(features: &[String], rows: &[Vec<f64>], targets: &[f64]) -> Result<(), TruthAdapterError> {
    if rows.len() < FEWEST {
        return Err(TruthAdapterError::TooFew(rows.len()));
    }
    let is_wrong = |at: &usize| {
        let row = &rows[*at];
        row.len() != features.len()
            || row.iter().any(|value| !value.is_finite())
            || targets.get(*at).is_none_or(|target| !target.is_finite())
    };
    (0..rows.len()).find(is_wrong).map_or(Ok(()), |at| Err(TruthAdapterError::Row(at)))
}

/// Mean absolute error in five-fold cross-validation.
fn validate(
    rows: &[Vec<f64>],
    targets: &[f64],
    fit: impl Fn(&[Vec<f64>], &[f64]) -> Option<TruthModel>,
) -> Option<f64> {
    let mut error = 0.0;
    for part in 0..PARTS {
        let is_left_out = |at: usize| at % PARTS == part;
        let (mut kept, mut kept_targets) = (Vec::new(), Vec::new());
        for at in (0..rows.len()).filter(|at| !is_left_out(*at)) {
            kept.push(rows[at].clone());
            kept_targets.push(targets[at]);
        }
        let model = fit(&kept, &kept_targets)?;
        for at in (0..rows.len()).filter(|at| is_left_out(*at)) {
            let predicted = match &model {
                TruthModel::Ridge(model) => model.predict(&rows[at]),
                TruthModel::Boosting(model) => model.predict(&rows[at]),
            };
            error += (predicted - targets[at]).abs();
        }
    }
    Some(error / rows.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_numbers::RandomNumberStream;

    fn learned(of: impl Fn(&[f64]) -> f64) -> TruthAdapter {
        let mut numbers = RandomNumberStream(4);
        let rows: Vec<Vec<f64>> = (0..120).map(|_| vec![numbers.normal(), numbers.normal()]).collect();
        let targets: Vec<f64> = rows.iter().map(|row| of(row) + 0.05 * numbers.normal()).collect();
        TruthAdapter::train(&["roi".into(), "risk".into()], &rows, &targets).unwrap()
    }

    fn rows_around(centre: f64) -> Vec<Vec<f64>> {
        let mut numbers = RandomNumberStream(8);
        (0..60).map(|_| vec![centre + numbers.normal(), numbers.normal()]).collect()
    }

    #[test]
    fn cross_validation_selects_the_model() {
        let line = learned(|row| 2.0 * row[0] - row[1]);
        assert_eq!(line.kind(), "ridge");
        let adapted = line.predict(&[1.0, 1.0], &rows_around(0.0));
        assert!((adapted.value - 1.0).abs() < 0.1 && adapted.low_confidence.is_none(), "{adapted:?}");
        let step = learned(|row| f64::from(u8::from(row[0] > 0.0)));
        assert_eq!(step.kind(), "gradient boosting");
    }

    #[test]
    fn drifted_features_are_named_and_noise_has_low_confidence() {
        let adapter = learned(|row| row[0]);
        let why = adapter.predict(&[0.0, 0.0], &rows_around(3.0)).low_confidence.unwrap();
        assert_eq!(why, "drifted from the training data: roi");
        assert!(adapter.drift(&rows_around(3.0)[..3]).is_empty());
        let noise = TruthAdapter { validation_error: 2.0, mean_error: 1.0, ..adapter };
        let why = noise.predict(&[0.0, 0.0], &[]).low_confidence.unwrap();
        assert!(why.contains("no better than predicting the mean"), "{why}");
    }

    #[test]
    fn models_round_trip_and_other_versions_are_rejected() {
        let adapter = learned(|row| row[0]);
        let text = serde_json::to_string(&adapter).unwrap();
        let read: TruthAdapter = serde_json::from_str(&text).unwrap();
        assert_eq!(read.clone().check_version().unwrap(), adapter);
        assert_eq!(TruthAdapter { version: 9, ..read }.check_version(), Err(TruthAdapterError::Version(9)));
        let few = TruthAdapter::train(&["a".into()], &[vec![1.0]], &[1.0]);
        assert_eq!(few, Err(TruthAdapterError::TooFew(1)));
        let wrong: Vec<Vec<f64>> = (0..30).map(|at| vec![if at == 7 { f64::NAN } else { 1.0 }]).collect();
        assert_eq!(TruthAdapter::train(&["a".into()], &wrong, &[1.0; 30]), Err(TruthAdapterError::Row(7)));
    }
}
