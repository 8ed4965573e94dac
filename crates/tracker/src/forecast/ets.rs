//! Exponential smoothing (ETS) with additive errors: level, trend or damped trend.

use serde::{Deserialize, Serialize};

use super::arima::mean_size;
use super::nelder_mead::minimise;
use super::{ForecastCandidate, adjusted_criterion};

/// Smoothed components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SmoothingForm {
    /// A level.
    Level,
    /// A level and a trend.
    Trend,
    /// A level and a damped trend.
    Damped,
}

impl SmoothingForm {
    const ALL: [Self; 3] = [Self::Level, Self::Trend, Self::Damped];

    /// Display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Level => "ETS(A,N,N)",
            Self::Trend => "ETS(A,A,N)",
            Self::Damped => "ETS(A,Ad,N)",
        }
    }

    /// Number of parameters: smoothing and damping parameters, initial level and trend, and the variance.
    fn coefficients(self) -> usize {
        match self {
            Self::Level => 3,
            Self::Trend => 5,
            Self::Damped => 6,
        }
    }
}

/// Parameters of the smoothing.
#[derive(Debug, Clone, Copy)]
struct SmoothingParameters {
    alpha: f64,
    beta: f64,
    phi: f64,
    level: f64,
    trend: f64,
}

/// The form with the lowest `AICc`.
pub(super) fn best(series: &[f64], horizon: usize) -> Option<(SmoothingForm, ForecastCandidate)> {
    let fitted = SmoothingForm::ALL.into_iter().filter_map(|form| Some((form, fit(series, form, horizon)?)));
    fitted.min_by(|(_, a), (_, b)| a.criterion.total_cmp(&b.criterion))
}

/// Fits one form.
pub(super) fn fit(series: &[f64], form: SmoothingForm, horizon: usize) -> Option<ForecastCandidate> {
    let count = form.coefficients();
    if series.len() < count + 2 {
        return None;
    }
    let scale = spread(series)?;
    let (level, trend) = initial_state(series);
    let read = |numbers: &[f64]| SmoothingParameters::of(form, numbers, (level, trend, scale));
    let ask = |numbers: &[f64]| {
        read(numbers).errors(series).0.iter().map(|error| error * error).sum::<f64>() / scale.powi(2)
    };
    let starts: &[[f64; 2]] =
        if form == SmoothingForm::Level { &[[0.0, 0.0], [-2.0, 0.0]] } else { &[[0.0, -2.0], [-2.0, -3.0]] };
    let found = starts.iter().map(|[alpha, beta]| {
        let start: Vec<f64> = match form {
            SmoothingForm::Level => vec![*alpha, 0.0],
            SmoothingForm::Trend => vec![*alpha, *beta, 0.0, 0.0],
            SmoothingForm::Damped => vec![*alpha, *beta, 0.0, 0.0, 0.0],
        };
        minimise(&start, 0.6, ask)
    });
    let (numbers, _) = found.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let smoothing = read(&numbers);
    let (errors, level, trend) = smoothing.errors(series);
    let n = series.len() as f64;
    let squares: f64 = errors.iter().map(|error| error * error).sum();
    if squares <= 0.0 || !squares.is_finite() {
        return None;
    }
    let variance = squares / (n - count as f64);
    let (mut means, mut deviations) = (Vec::new(), Vec::new());
    let (mut fade, mut sum, mut spread) = (1.0, 0.0, 1.0);
    for _ in 0..horizon {
        fade *= smoothing.phi;
        sum += fade;
        means.push(level + sum * trend);
        deviations.push((variance * spread).sqrt());
        spread += (smoothing.alpha + smoothing.beta * sum).powi(2);
    }
    let likelihood = -0.5 * n * ((std::f64::consts::TAU * squares / n).ln() + 1.0);
    Some(ForecastCandidate {
        criterion: adjusted_criterion(likelihood, count, series.len())?,
        one_step_error: mean_size(&errors),
        freedom: n - count as f64,
        inflation: (1.0 + count as f64 / n).sqrt(),
        means,
        deviations,
    })
}

impl SmoothingParameters {
    /// The smoothing of unconstrained parameters: shares are mapped to 0…1, and the initial state is measured in units of
    /// the spread of the series.
    fn of(form: SmoothingForm, numbers: &[f64], (level, trend, scale): (f64, f64, f64)) -> Self {
        let share = |at: usize| 1.0 / (1.0 + (-numbers[at]).exp());
        let alpha = share(0).clamp(1e-4, 1.0 - 1e-4);
        match form {
            SmoothingForm::Level => {
                Self { alpha, beta: 0.0, phi: 0.0, level: level + scale * numbers[1], trend: 0.0 }
            }
            SmoothingForm::Trend | SmoothingForm::Damped => Self {
                alpha,
                beta: alpha * share(1),
                phi: if form == SmoothingForm::Damped { 0.8 + 0.18 * share(4) } else { 1.0 },
                level: level + scale * numbers[2],
                trend: trend + scale * numbers[3] / 4.0,
            },
        }
    }

    /// One-step errors, and the final level and trend.
    fn errors(&self, series: &[f64]) -> (Vec<f64>, f64, f64) {
        let (mut level, mut trend) = (self.level, self.trend);
        let errors = series
            .iter()
            .map(|value| {
                let expected = level + self.phi * trend;
                let error = value - expected;
                level = expected + self.alpha * error;
                trend = self.phi * trend + self.beta * error;
                error
            })
            .collect();
        (errors, level, trend)
    }
}

/// Initial level and trend: a line through the first values.
fn initial_state(series: &[f64]) -> (f64, f64) {
    let first = &series[..series.len().min(10)];
    let mean = first.iter().sum::<f64>() / first.len() as f64;
    let trend = crate::statistics::slope(first, 0.9).map_or(0.0, |(slope, _)| slope);
    (mean - trend * (first.len() as f64 + 1.0) / 2.0, trend)
}

fn spread(series: &[f64]) -> Option<f64> {
    crate::statistics::standard_deviation(series).filter(|spread| *spread > 0.0)
}
