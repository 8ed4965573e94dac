//! Linear regression by ordinary least squares.

use nalgebra::{DMatrix, DVector};

/// A fitted regression.
#[derive(Debug, Clone, PartialEq)]
pub struct LeastSquaresFit {
    /// Coefficients, one per column.
    pub coefficients: Vec<f64>,
    /// Standard errors of the coefficients.
    pub errors: Vec<f64>,
    /// Residual sum of squares.
    pub residual: f64,
}

/// Fits the columns to the target; `None` if there are more columns than rows, or if columns are collinear.
pub fn least_squares(columns: &[Vec<f64>], target: &[f64]) -> Option<LeastSquaresFit> {
    let (rows, count) = (target.len(), columns.len());
    if count == 0 || rows < count {
        return None;
    }
    // Columns are scaled to unit length, so that small ones do not look collinear.
    let lengths: Vec<f64> =
        columns.iter().map(|column| column.iter().map(|value| value * value).sum::<f64>().sqrt()).collect();
    if lengths.iter().any(|length| !(*length > 0.0 && length.is_finite())) {
        return None;
    }
    let matrix = DMatrix::from_fn(rows, count, |row, column| columns[column][row] / lengths[column]);
    let target = DVector::from_column_slice(target);
    let decomposed = matrix.clone().qr();
    let upper = decomposed.r();
    if (0..count).any(|at| upper[(at, at)].abs() < 1e-12) {
        return None;
    }
    let mut rotated = target.clone();
    decomposed.q_tr_mul(&mut rotated);
    let scaled = upper.solve_upper_triangular(&rotated.rows(0, count).into_owned())?;
    let left = &target - &matrix * &scaled;
    let residual = left.norm_squared();
    let inverse = upper.solve_upper_triangular(&DMatrix::identity(count, count))?;
    let freedom = (rows - count) as f64;
    let errors = (0..count)
        .map(|at| (inverse.row(at).norm_squared() * residual / freedom).sqrt() / lengths[at])
        .collect();
    let coefficients = scaled.iter().zip(&lengths).map(|(value, length)| value / length).collect();
    Some(LeastSquaresFit { coefficients, errors, residual })
}
