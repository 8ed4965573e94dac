//! Augmented Dickey-Fuller test of stationarity, with a constant.

use super::describe::is_constant;
use super::distribution::normal_cdf;
use super::least_squares::least_squares;

/// Result of the test.
#[derive(Debug, Clone, PartialEq)]
pub struct DickeyFullerTest {
    /// t statistic of the level.
    pub statistic: f64,
    /// p-value under the hypothesis of a unit root, after `MacKinnon`.
    pub p_value: f64,
    /// Number of lagged differences in the regression.
    pub used_lag: usize,
    /// Number of observations.
    pub observations: usize,
    /// Critical values at 1, 5 and 10 %.
    pub critical: [f64; 3],
}

/// Number of lagged differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LagSelection {
    /// Chosen by AIC, up to a maximum that grows with the length of the series.
    Chosen,
    /// Fixed.
    Given(usize),
}

/// `MacKinnon`'s p-value polynomials: `BELOW` applies up to `TURN`, `ABOVE` beyond it; outside of `LEAST` and `GREATEST`
/// the p-value is 0 or 1.
const TURN: f64 = -1.61;
const LEAST: f64 = -18.83;
const GREATEST: f64 = 2.74;
const BELOW: [f64; 3] = [2.1659, 1.4412, 0.038_269];
const ABOVE: [f64; 4] = [1.7339, 0.932_02, -0.127_45, -0.010_368];
/// Polynomials of the critical values in 1 / observations.
const CRITICAL: [[f64; 4]; 3] = [
    [-3.430_35, -6.5393, -16.786, -79.433],
    [-2.861_54, -2.8903, -4.234, -40.040],
    [-2.566_77, -1.5384, -2.809, 0.0],
];

/// Tests a series; `None` if it is too short or constant.
pub fn adf(series: &[f64], lags: LagSelection) -> Option<DickeyFullerTest> {
    let most = series.len().checked_div(2)?.checked_sub(2)?;
    if is_constant(series) {
        return None;
    }
    let lag = match lags {
        LagSelection::Given(lag) if lag > most => return None,
        LagSelection::Given(lag) => lag,
        LagSelection::Chosen => choose(series, default_lags(series.len()).min(most))?,
    };
    let (columns, target) = regression(series, lag, lag);
    let fit = least_squares(&columns, &target)?;
    let statistic = fit.coefficients[0] / fit.errors[0];
    if !statistic.is_finite() {
        return None;
    }
    let share = 1.0 / target.len() as f64;
    let critical = CRITICAL.map(|coefficients| polynomial(&coefficients, share));
    Some(DickeyFullerTest {
        statistic,
        p_value: p_value(statistic),
        used_lag: lag,
        observations: target.len(),
        critical,
    })
}

/// Schwert's rule for the maximum lag.
fn default_lags(length: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is small and positive")]
    let lags = (12.0 * (length as f64 / 100.0).powf(0.25)).ceil() as usize;
    lags
}

/// The lag with the lowest AIC, all fitted to the same observations.
fn choose(series: &[f64], most: usize) -> Option<usize> {
    let criterion = |lag: usize| {
        let (columns, target) = regression(series, lag, most);
        let n = target.len() as f64;
        let fit = least_squares(&columns, &target)?;
        Some(n * (fit.residual / n).ln() + 2.0 * columns.len() as f64)
    };
    let found = (0..=most).filter_map(|lag| Some((lag, criterion(lag)?)));
    found.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(lag, _)| lag)
}

/// Columns (previous level, constant, lagged differences) and target (differences), without the first `skipped` ones.
fn regression(series: &[f64], lag: usize, skipped: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let differences: Vec<f64> = series.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let target = differences[skipped..].to_vec();
    let mut columns = vec![series[skipped..series.len() - 1].to_vec(), vec![1.0; target.len()]];
    for back in 1..=lag {
        columns.push(differences[skipped - back..differences.len() - back].to_vec());
    }
    (columns, target)
}

fn p_value(statistic: f64) -> f64 {
    if statistic > GREATEST {
        1.0
    } else if statistic < LEAST {
        0.0
    } else if statistic <= TURN {
        normal_cdf(polynomial(&BELOW, statistic))
    } else {
        normal_cdf(polynomial(&ABOVE, statistic))
    }
}

fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_constant_series_have_no_result() {
        for series in [&[][..], &[1.0], &[1.0, 2.0, 3.0], &[5.0; 30]] {
            assert_eq!(adf(series, LagSelection::Chosen), None);
        }
        assert_eq!(adf(&[1.0, 2.0, 1.0, 3.0, 2.0, 1.5], LagSelection::Given(2)), None);
    }
}
