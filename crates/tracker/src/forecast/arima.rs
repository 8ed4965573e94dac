//! ARIMA with a level or drift, and with covariates.

use super::arma::ArmaProcess;
use super::nelder_mead::minimise;
use super::{ForecastCandidate, adjusted_criterion};
use crate::statistics::{LagSelection, adf, is_constant, least_squares};

/// Orders (p, q) that are tried; histories are too short for larger ones.
const ORDERS: [(usize, usize); 8] = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2)];
/// p-value of the stationarity test below which the series is not differenced.
const DOUBT: f64 = 0.05;

/// Order of an ARIMA model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ArimaOrder {
    /// Autoregressive order.
    pub p: usize,
    /// Number of differences.
    pub d: usize,
    /// Moving-average order.
    pub q: usize,
    /// Whether there is a level, or a drift of the differences.
    pub has_mean: bool,
}

impl ArimaOrder {
    /// Display name.
    pub fn name(&self) -> String {
        let drift = if self.d == 1 && self.has_mean { " with drift" } else { "" };
        format!("ARIMA({},{},{}){drift}", self.p, self.d, self.q)
    }

    fn coefficients(&self, columns: usize) -> usize {
        self.p + self.q + columns + 1
    }
}

/// The order with the lowest `AICc`.
pub(super) fn best(
    series: &[f64],
    beside: &[Vec<f64>],
    horizon: usize,
) -> Option<(ArimaOrder, ForecastCandidate)> {
    let d = usize::from(adf(series, LagSelection::Chosen).is_none_or(|test| test.p_value >= DOUBT));
    let orders = ORDERS.iter().flat_map(|(p, q)| {
        let means: &[bool] = if d == 0 { &[true] } else { &[false, true] };
        means.iter().map(move |has_mean| ArimaOrder { p: *p, d, q: *q, has_mean: *has_mean })
    });
    let fitted = orders.filter_map(|order| Some((order, fit(series, beside, order, horizon)?)));
    fitted.min_by(|(_, a), (_, b)| a.criterion.total_cmp(&b.criterion))
}

/// Fits one order. Covariates are assumed to keep their last value.
pub(super) fn fit(
    series: &[f64],
    beside: &[Vec<f64>],
    order: ArimaOrder,
    horizon: usize,
) -> Option<ForecastCandidate> {
    let differences = |values: &[f64]| -> Vec<f64> {
        if order.d == 0 { values.to_vec() } else { values.windows(2).map(|pair| pair[1] - pair[0]).collect() }
    };
    let values = differences(series);
    let mut columns: Vec<Vec<f64>> = beside.iter().map(|column| differences(column)).collect();
    columns.retain(|column| !is_constant(column));
    let beside_next: Vec<f64> = columns
        .iter()
        .map(|column| if order.d == 0 { column.last().copied().unwrap_or(0.0) } else { 0.0 })
        .collect();
    if order.has_mean {
        columns.push(vec![1.0; values.len()]);
    }
    let count = order.coefficients(columns.len());
    if values.len() < count + 2 {
        return None;
    }
    let process = if order.p + order.q == 0 {
        ArmaProcess::of(&[], 0)
    } else {
        let ask = |numbers: &[f64]| {
            -likelihood(&ArmaProcess::of(numbers, order.p), &values, &columns).unwrap_or(f64::NEG_INFINITY)
        };
        let start = vec![0.1; order.p + order.q];
        ArmaProcess::of(&minimise(&start, 0.4, ask).0, order.p)
    };
    let likelihood = likelihood(&process, &values, &columns)?;
    let regression = regression(&process, &values, &columns)?;
    let n = values.len() as f64;
    let variance = regression.residual / (n - count as f64);
    let level: f64 = if order.has_mean { *regression.coefficients.last()? } else { 0.0 };
    let mean_next =
        level + beside_next.iter().zip(&regression.coefficients).map(|(next, by)| next * by).sum::<f64>();
    let centred: Vec<f64> = (0..values.len())
        .map(|at| {
            let expected: f64 =
                columns.iter().zip(&regression.coefficients).map(|(column, by)| column[at] * by).sum();
            values[at] - expected
        })
        .collect();
    let filtered = process.filter(&[&centred]);
    let mut following = process.continue_from(&centred, &filtered.innovations[0], horizon);
    // For short series the filter's forecast is more accurate than the recursion's.
    if let (Some(first), Some(next)) = (following.first_mut(), filtered.next.first()) {
        *first = *next;
    }
    let mut weights = process.weights(horizon);
    let mut means: Vec<f64> = following.iter().map(|value| value + mean_next).collect();
    if order.d == 1 {
        accumulate(&mut weights, 0.0);
        accumulate(&mut means, *series.last()?);
    }
    let mut squares: Vec<f64> = weights.iter().map(|weight| weight * weight).collect();
    accumulate(&mut squares, 0.0);
    let deviations =
        squares.iter().map(|square| (square.max(filtered.next_scale) * variance).sqrt()).collect();
    Some(ForecastCandidate {
        criterion: adjusted_criterion(likelihood, count, values.len())?,
        one_step_error: mean_size(&filtered.innovations[0]),
        freedom: n - count as f64,
        inflation: (1.0 + count as f64 / n).sqrt(),
        means,
        deviations,
    })
}

/// Log-likelihood, maximised over the variance and the coefficients of the columns.
fn likelihood(process: &ArmaProcess, values: &[f64], columns: &[Vec<f64>]) -> Option<f64> {
    let all: Vec<&[f64]> = std::iter::once(values).chain(columns.iter().map(Vec::as_slice)).collect();
    let mut filtered = process.filter(&all);
    let regressors = filtered.innovations.split_off(1);
    let residual = residual(&filtered.innovations[0], &regressors)?;
    let n = values.len() as f64;
    Some(-0.5 * (n * ((std::f64::consts::TAU * residual / n).ln() + 1.0) + filtered.log_scale))
}

/// Residual sum of squares of a regression; a single column is solved directly, because this is the hot path.
fn residual(target: &[f64], columns: &[Vec<f64>]) -> Option<f64> {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let residual = match columns {
        [] => product(target, target),
        [column] => {
            let by = product(target, column) / product(column, column);
            target.iter().zip(column).map(|(value, column)| (value - by * column).powi(2)).sum()
        }
        _ => least_squares(columns, target)?.residual,
    };
    (residual.is_finite() && residual > 0.0).then_some(residual)
}

fn regression(
    process: &ArmaProcess,
    values: &[f64],
    columns: &[Vec<f64>],
) -> Option<crate::statistics::LeastSquaresFit> {
    let all: Vec<&[f64]> = std::iter::once(values).chain(columns.iter().map(Vec::as_slice)).collect();
    let mut filtered = process.filter(&all);
    let regressors = filtered.innovations.split_off(1);
    let target = filtered.innovations.swap_remove(0);
    if regressors.is_empty() {
        let residual = residual(&target, &[])?;
        return Some(crate::statistics::LeastSquaresFit { coefficients: vec![], errors: vec![], residual });
    }
    least_squares(&regressors, &target)
}

/// Replaces each value by the running sum.
fn accumulate(values: &mut [f64], start: f64) {
    let mut sum = start;
    for value in values {
        sum += *value;
        *value = sum;
    }
}

pub(super) fn mean_size(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).sum::<f64>() / values.len() as f64
}
