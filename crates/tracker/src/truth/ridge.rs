//! Ridge regression: linear regression with a penalty on large coefficients.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

/// A fitted regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RidgeRegression {
    /// Coefficients, one per feature.
    pub coefficients: Vec<f64>,
    /// Prediction where all features are 0.
    pub intercept: f64,
}

impl RidgeRegression {
    /// Fits rows of features to targets. The intercept is not penalised. `None` without rows, for rows of different
    /// lengths, or if there is no solution.
    pub fn fit(rows: &[Vec<f64>], targets: &[f64], alpha: f64) -> Option<Self> {
        let (count, features) = (rows.len(), rows.first()?.len());
        if count != targets.len() || rows.iter().any(|row| row.len() != features) || alpha < 0.0 {
            return None;
        }
        let means: Vec<f64> =
            (0..features).map(|at| rows.iter().map(|row| row[at]).sum::<f64>() / count as f64).collect();
        let centre = targets.iter().sum::<f64>() / count as f64;
        // The centred rows are extended by √alpha times the identity: the same solution as the normal equations, which lose
        // twice as many digits.
        let matrix = DMatrix::from_fn(count + features, features, |row, at| match row.checked_sub(count) {
            None => rows[row][at] - means[at],
            Some(penalised) => f64::from(u8::from(penalised == at)) * alpha.sqrt(),
        });
        let target = DVector::from_fn(count + features, |row, _| {
            targets.get(row).map_or(0.0, |target| target - centre)
        });
        let decomposed = matrix.qr();
        let mut rotated = target;
        decomposed.q_tr_mul(&mut rotated);
        let solved = decomposed.r().solve_upper_triangular(&rotated.rows(0, features).into_owned())?;
        let coefficients: Vec<f64> = solved.iter().copied().collect();
        let shift: f64 = coefficients.iter().zip(&means).map(|(coefficient, mean)| coefficient * mean).sum();
        let intercept = centre - shift;
        coefficients.iter().all(|value| value.is_finite()).then_some(Self { coefficients, intercept })
    }

    /// Prediction for a row.
    pub fn predict(&self, row: &[f64]) -> f64 {
        self.intercept
            + self.coefficients.iter().zip(row).map(|(coefficient, value)| coefficient * value).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::statistics::cases;

    #[test]
    fn results_equal_scikit_learn() {
        #[derive(Deserialize)]
        struct RidgeCase {
            rows: Vec<Vec<f64>>,
            targets: Vec<f64>,
            alpha: f64,
            coefficients: Vec<f64>,
            intercept: f64,
            ask: Vec<Vec<f64>>,
            predicted: Vec<f64>,
        }
        for (number, case) in cases::<RidgeCase>("ridge").iter().enumerate() {
            let found = RidgeRegression::fit(&case.rows, &case.targets, case.alpha).unwrap();
            let largest = case.coefficients.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            for (ours, theirs) in found.coefficients.iter().zip(&case.coefficients) {
                assert!(
                    (ours - theirs).abs() <= 1e-6 * theirs.abs() + 1e-12 * largest,
                    "case {number}: {ours} {theirs}"
                );
            }
            let scale = case.targets.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            let is_same =
                |ours: f64, theirs: f64| (ours - theirs).abs() <= 1e-6 * theirs.abs() + 1e-9 * scale;
            assert!(
                is_same(found.intercept, case.intercept),
                "case {number}: {} {}",
                found.intercept,
                case.intercept
            );
            for (row, theirs) in case.ask.iter().zip(&case.predicted) {
                assert!(
                    is_same(found.predict(row), *theirs),
                    "case {number}: {} {theirs}",
                    found.predict(row)
                );
            }
        }
    }

    #[test]
    fn invalid_rows_are_not_fitted() {
        assert_eq!(RidgeRegression::fit(&[], &[], 1.0), None);
        assert_eq!(RidgeRegression::fit(&[vec![1.0], vec![1.0, 2.0]], &[1.0, 2.0], 1.0), None);
        assert_eq!(RidgeRegression::fit(&[vec![f64::NAN], vec![1.0]], &[1.0, 2.0], 1.0), None);
    }
}
