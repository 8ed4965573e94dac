//! The truth adapter.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Boosting, Ridge};
use crate::statistics::{kolmogorov_smirnov, mean, population_stability};

/// The version of the file.
const VERSION: u32 = 1;
/// Pairs that can be learned from.
const FEWEST: usize = 20;
/// Parts of cross-validation.
const PARTS: usize = 5;
const ALPHAS: [f64; 5] = [1e-3, 1e-2, 1e-1, 1.0, 10.0];
/// A feature that has moved by more is another one.
const MOST_STABILITY_INDEX: f64 = 0.25;
const LEAST_P_VALUE: f64 = 0.01;
const BINS: usize = 10;
/// Values of each feature that are kept to compare with.
const KEPT: usize = 200;

/// What was learned from pairs of features and what was really seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TruthAdapter {
    /// The version of this layout.
    pub version: u32,
    /// What the features are called.
    pub features: Vec<String>,
    model: Model,
    /// How far predictions were off, of pairs that had not been seen.
    pub validation_error: f64,
    /// The same, if the mean had been predicted.
    pub mean_error: f64,
    /// Pairs that it was learned from.
    pub pairs: usize,
    /// Values of each feature as it was learned.
    seen: Vec<Vec<f64>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Model {
    Ridge(Ridge),
    Boosting(Boosting),
}

/// A prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adapted {
    /// What will really be seen.
    pub value: f64,
    /// Why it should not be relied on.
    pub low_confidence: Option<String>,
}

/// How much a feature has moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// Which.
    pub feature: String,
    /// The population stability index.
    pub stability_index: f64,
    /// The p value of Kolmogorov and Smirnov.
    pub p_value: f64,
    /// Whether it is another one than the one that was learned.
    pub has_drifted: bool,
}

/// Why nothing could be learned.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TruthError {
    /// There is too little.
    #[error("{0} pairs are too few to learn from: {FEWEST} are needed")]
    TooFew(usize),
    /// The pairs are no table.
    #[error("pair {0} has not as many features as there are names, or a value that is not finite")]
    Row(usize),
    /// Of another time.
    #[error("the model has version {0}, and this menace reads {VERSION}; train it again")]
    Version(u32),
    /// No model could be fitted.
    #[error("no model could be fitted to these pairs")]
    Unsolvable,
}

impl TruthAdapter {
    /// Learns. Ridge and boosting are compared by what they say about pairs that they have not seen, and the better is fitted
    /// to all.
    pub fn train(features: &[String], rows: &[Vec<f64>], targets: &[f64]) -> Result<Self, TruthError> {
        check(features, rows, targets)?;
        let ridge = |alpha: f64| {
            move |rows: &[Vec<f64>], targets: &[f64]| Ridge::fit(rows, targets, alpha).map(Model::Ridge)
        };
        let boosting = |rows: &[Vec<f64>], targets: &[f64]| Boosting::fit(rows, targets).map(Model::Boosting);
        let of_ridge =
            ALPHAS.iter().filter_map(|alpha| Some((Some(*alpha), validate(rows, targets, ridge(*alpha))?)));
        let of_boosting = validate(rows, targets, boosting).map(|error| (None, error));
        let best = of_ridge.chain(of_boosting).min_by(|(_, a), (_, b)| a.total_cmp(b));
        let (alpha, validation_error) = best.ok_or(TruthError::Unsolvable)?;
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
            model: model.ok_or(TruthError::Unsolvable)?,
            validation_error,
            mean_error,
            pairs: rows.len(),
            seen,
        })
    }

    /// Refuses a model of another version.
    pub fn check_version(self) -> Result<Self, TruthError> {
        if self.version == VERSION { Ok(self) } else { Err(TruthError::Version(self.version)) }
    }

    /// What the model is called.
    pub fn kind(&self) -> &'static str {
        match self.model {
            Model::Ridge(_) => "ridge",
            Model::Boosting(_) => "gradient boosting",
        }
    }

    /// What will really be seen, and whether that can be relied on.
    pub fn predict(&self, row: &[f64], recent: &[Vec<f64>]) -> Adapted {
        let value = match &self.model {
            Model::Ridge(model) => model.predict(row),
            Model::Boosting(model) => model.predict(row),
        };
        let drifted: Vec<String> = self
            .drift(recent)
            .into_iter()
            .filter(|drift| drift.has_drifted)
            .map(|drift| drift.feature)
            .collect();
        let low_confidence = if self.validation_error >= self.mean_error {
            Some("the model is no better than the mean".to_owned())
        } else if !drifted.is_empty() {
            Some(format!("not what was learned from any more: {}", drifted.join(", ")))
        } else {
            None
        };
        Adapted { value, low_confidence }
    }

    /// How much each feature of recent rows has moved from what was learned. Nothing of too few rows to say so.
    pub fn drift(&self, recent: &[Vec<f64>]) -> Vec<Drift> {
        if recent.len() < BINS {
            return Vec::new();
        }
        let of = |(at, name): (usize, &String)| {
            let now: Vec<f64> = recent.iter().filter_map(|row| row.get(at).copied()).collect();
            let seen = self.seen.get(at)?;
            let stability_index = population_stability(seen, &now, BINS)?;
            let p_value = kolmogorov_smirnov(seen, &now)?.p_value;
            // The index alone is large by chance when there are few rows.
            let has_drifted = stability_index > MOST_STABILITY_INDEX && p_value < LEAST_P_VALUE;
            Some(Drift { feature: name.clone(), stability_index, p_value, has_drifted })
        };
        self.features.iter().enumerate().filter_map(of).collect()
    }
}

fn check(features: &[String], rows: &[Vec<f64>], targets: &[f64]) -> Result<(), TruthError> {
    if rows.len() < FEWEST {
        return Err(TruthError::TooFew(rows.len()));
    }
    let is_wrong = |at: &usize| {
        let row = &rows[*at];
        row.len() != features.len()
            || row.iter().any(|value| !value.is_finite())
            || targets.get(*at).is_none_or(|target| !target.is_finite())
    };
    (0..rows.len()).find(is_wrong).map_or(Ok(()), |at| Err(TruthError::Row(at)))
}

/// The mean error at rows that were left out: every fifth, five times.
fn validate(
    rows: &[Vec<f64>],
    targets: &[f64],
    fit: impl Fn(&[Vec<f64>], &[f64]) -> Option<Model>,
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
                Model::Ridge(model) => model.predict(&rows[at]),
                Model::Boosting(model) => model.predict(&rows[at]),
            };
            error += (predicted - targets[at]).abs();
        }
    }
    Some(error / rows.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Numbers;

    fn learned(of: impl Fn(&[f64]) -> f64) -> TruthAdapter {
        let mut numbers = Numbers(4);
        let rows: Vec<Vec<f64>> = (0..120).map(|_| vec![numbers.normal(), numbers.normal()]).collect();
        let targets: Vec<f64> = rows.iter().map(|row| of(row) + 0.05 * numbers.normal()).collect();
        TruthAdapter::train(&["roi".into(), "risk".into()], &rows, &targets).unwrap()
    }

    fn rows_around(centre: f64) -> Vec<Vec<f64>> {
        let mut numbers = Numbers(8);
        (0..60).map(|_| vec![centre + numbers.normal(), numbers.normal()]).collect()
    }

    #[test]
    fn the_model_is_the_one_that_says_more_about_what_it_has_not_seen() {
        let line = learned(|row| 2.0 * row[0] - row[1]);
        assert_eq!(line.kind(), "ridge");
        let adapted = line.predict(&[1.0, 1.0], &rows_around(0.0));
        assert!((adapted.value - 1.0).abs() < 0.1 && adapted.low_confidence.is_none(), "{adapted:?}");
        let step = learned(|row| f64::from(u8::from(row[0] > 0.0)));
        assert_eq!(step.kind(), "gradient boosting");
    }

    #[test]
    fn what_has_moved_is_named_and_what_is_noise_is_not_trusted() {
        let adapter = learned(|row| row[0]);
        let why = adapter.predict(&[0.0, 0.0], &rows_around(3.0)).low_confidence.unwrap();
        assert_eq!(why, "not what was learned from any more: roi");
        assert!(adapter.drift(&rows_around(3.0)[..3]).is_empty());
        let noise = TruthAdapter { validation_error: 2.0, mean_error: 1.0, ..adapter };
        assert!(noise.predict(&[0.0, 0.0], &[]).low_confidence.unwrap().contains("no better than the mean"));
    }

    #[test]
    fn a_model_is_read_as_it_was_written_and_no_other() {
        let adapter = learned(|row| row[0]);
        let text = serde_json::to_string(&adapter).unwrap();
        let read: TruthAdapter = serde_json::from_str(&text).unwrap();
        assert_eq!(read.clone().check_version().unwrap(), adapter);
        assert_eq!(TruthAdapter { version: 9, ..read }.check_version(), Err(TruthError::Version(9)));
        let few = TruthAdapter::train(&["a".into()], &[vec![1.0]], &[1.0]);
        assert_eq!(few, Err(TruthError::TooFew(1)));
        let wrong: Vec<Vec<f64>> = (0..30).map(|at| vec![if at == 7 { f64::NAN } else { 1.0 }]).collect();
        assert_eq!(TruthAdapter::train(&["a".into()], &wrong, &[1.0; 30]), Err(TruthError::Row(7)));
    }
}
