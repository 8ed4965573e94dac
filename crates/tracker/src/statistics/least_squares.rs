//! Linear regression.

use nalgebra::{DMatrix, DVector};

/// What a regression found.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// One for each column.
    pub coefficients: Vec<f64>,
    /// How far each may be off: its standard error.
    pub errors: Vec<f64>,
    /// The sum of the squares of what is left.
    pub residual: f64,
}

/// The coefficients with which the columns come closest to the target; nothing if there are more columns than rows, or if
/// columns say the same.
pub fn least_squares(columns: &[Vec<f64>], target: &[f64]) -> Option<Fit> {
    let (rows, count) = (target.len(), columns.len());
    if count == 0 || rows < count {
        return None;
    }
    // Columns of one length: tiny ones are not nothing.
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
    Some(Fit { coefficients, errors, residual })
}
