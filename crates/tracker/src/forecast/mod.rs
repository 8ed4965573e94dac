//! Forecasts of the next values of a series, with intervals.
//!
//! Candidates are ARIMA and exponential smoothing; the reference is the last value. All are backtested at the last positions
//! of the series, each with only the values before it. If the last value was closer, it is the forecast.

mod accuracy;
mod arima;
mod arma;
mod ets;
mod nelder_mead;

#[cfg(test)]
mod forecast_tests;

use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use accuracy::ForecastAccuracy;
pub use arima::ArimaOrder;
pub use ets::SmoothingForm;

use crate::statistics::{is_constant, mean, slope, standard_deviation, student_quantile};

/// Number of last values that are used: older ones add little information at the same cost.
const LONGEST: usize = 200;
/// Series with fewer values are continued by a line.
const FEW: usize = 10;
/// Maximum number of backtest positions, and the divisor that limits them to a share of the series.
const MOST_PLACES: usize = 12;
const SHARE_OF_PLACES: usize = 3;

/// Forecast model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForecastModel {
    /// An ARIMA process.
    Arima(ArimaOrder),
    /// Exponential smoothing.
    Ets(SmoothingForm),
    /// A line through all values, for short series.
    Linear,
    /// The last value, repeated.
    LastValue,
}

impl ForecastModel {
    /// Display name.
    pub fn name(&self) -> String {
        match self {
            Self::Arima(order) => order.name(),
            Self::Ets(form) => form.name().to_owned(),
            Self::Linear => "line".to_owned(),
            Self::LastValue => "last value".to_owned(),
        }
    }
}

/// A forecast.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// The model.
    pub model: ForecastModel,
    /// Expected next values.
    pub steps: Vec<ForecastValue>,
    /// Coverage probability of the intervals.
    pub confidence: f64,
    /// Accuracy of the model in the backtest.
    pub past: ForecastAccuracy,
    /// Reason for the model, if another one was rejected.
    pub reason: Option<String>,
}

/// An expected value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForecastValue {
    /// The value.
    pub value: f64,
    /// Its interval at the requested confidence; `None` if there are too few values.
    pub interval: Option<(f64, f64)>,
}

/// Request for a forecast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForecastRequest<'series> {
    /// The series.
    pub series: &'series [f64],
    /// Covariates, as columns of the same length as the series; may be empty.
    pub beside: &'series [Vec<f64>],
    /// Number of values to forecast.
    pub horizon: usize,
    /// Coverage probability of the intervals, such as 0.9.
    pub confidence: f64,
    /// Model chosen earlier, which skips the search.
    pub known: Option<ForecastModel>,
}

impl<'series> ForecastRequest<'series> {
    /// A request for the next value with a 90 % interval.
    pub fn next(series: &'series [f64]) -> Self {
        Self { series, beside: &[], horizon: 1, confidence: 0.9, known: None }
    }
}

/// A series that cannot be forecast.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ForecastError {
    /// An empty series.
    #[error("no values to continue")]
    Empty,
    /// A value is not finite.
    #[error("value {0} of the series is not a finite number")]
    NotFinite(usize),
    /// A covariate of another length, or with a value that is not finite.
    #[error("covariate {0} has another length than the series, or a value that is not finite")]
    Beside(usize),
    /// A confidence that is not between 0 and 1.
    #[error("confidence must be greater than 0 and less than 1")]
    Confidence,
}

impl ErrorDetails for ForecastError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Empty | Self::NotFinite(_) | Self::Beside(_) | Self::Confidence => ErrorClass::Usage,
        }
    }
}

/// A fitted candidate model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ForecastCandidate {
    criterion: f64,
    one_step_error: f64,
    freedom: f64,
    inflation: f64,
    means: Vec<f64>,
    deviations: Vec<f64>,
}

/// Corrected Akaike information criterion (`AICc`); `None` for a series too short for the number of coefficients.
fn adjusted_criterion(likelihood: f64, coefficients: usize, values: usize) -> Option<f64> {
    let (k, n) = (coefficients as f64, values as f64);
    (n > k + 1.0 && likelihood.is_finite())
        .then(|| 2.0 * k - 2.0 * likelihood + 2.0 * k * (k + 1.0) / (n - k - 1.0))
}

/// Forecasts a series.
pub fn forecast(question: &ForecastRequest) -> Result<Forecast, ForecastError> {
    check(question)?;
    let skipped = question.series.len().saturating_sub(LONGEST);
    let beside: Vec<Vec<f64>> = question.beside.iter().map(|column| column[skipped..].to_vec()).collect();
    let question = &ForecastRequest { series: &question.series[skipped..], beside: &beside, ..*question };
    let (series, few) = (question.series, question.series.len() < FEW);
    if is_constant(series) {
        let reason = if series.len() == 1 { "there is one value" } else { "all values are the same" };
        return Ok(constant_forecast(question, reason));
    }
    if few {
        let mut found = forecast_with_model(question, series, ForecastModel::Linear);
        found.past = backtest(question, ForecastModel::Linear);
        found.reason = Some(format!("{} values are too few for another model", series.len()));
        return Ok(prefer_last_value(question, found));
    }
    let model = question.known.unwrap_or_else(|| choose(series, question.beside));
    let mut found = forecast_with_model(question, series, model);
    found.past = backtest(question, model);
    Ok(prefer_last_value(question, found))
}

fn check(question: &ForecastRequest) -> Result<(), ForecastError> {
    if question.series.is_empty() {
        return Err(ForecastError::Empty);
    }
    if let Some(at) = question.series.iter().position(|value| !value.is_finite()) {
        return Err(ForecastError::NotFinite(at));
    }
    let is_wrong = |column: &Vec<f64>| {
        column.len() != question.series.len() || column.iter().any(|value| !value.is_finite())
    };
    if let Some(at) = question.beside.iter().position(is_wrong) {
        return Err(ForecastError::Beside(at));
    }
    if !(question.confidence > 0.0 && question.confidence < 1.0) {
        return Err(ForecastError::Confidence);
    }
    Ok(())
}

/// Chooses between the best models of both families by their one-step errors. Their `AICc` values are not comparable, because
/// one of them may be computed on differences.
fn choose(series: &[f64], beside: &[Vec<f64>]) -> ForecastModel {
    let arima = arima::best(series, beside, 1).map(|(order, found)| (ForecastModel::Arima(order), found));
    let ets = ets::best(series, 1).map(|(form, found)| (ForecastModel::Ets(form), found));
    let both = [arima, ets].into_iter().flatten();
    let best = both.min_by(|(_, a), (_, b)| a.one_step_error.total_cmp(&b.one_step_error));
    best.map_or(ForecastModel::LastValue, |(model, _)| model)
}

/// Forecast of a model for a series.
fn forecast_with_model(question: &ForecastRequest, series: &[f64], model: ForecastModel) -> Forecast {
    let beside: Vec<Vec<f64>> =
        question.beside.iter().map(|column| column[..series.len()].to_vec()).collect();
    let candidate = match model {
        ForecastModel::Arima(order) => arima::fit(series, &beside, order, question.horizon),
        ForecastModel::Ets(form) => ets::fit(series, form, question.horizon),
        ForecastModel::Linear => line(series, question.horizon),
        ForecastModel::LastValue => last_value(series, question.horizon),
    };
    let (model, candidate) = match candidate {
        Some(candidate) => (model, Some(candidate)),
        None => (ForecastModel::LastValue, last_value(series, question.horizon)),
    };
    let steps = match candidate {
        Some(candidate) => candidate.steps(question.confidence),
        None => vec![
            ForecastValue { value: series.last().copied().unwrap_or(f64::NAN), interval: None };
            question.horizon
        ],
    };
    Forecast {
        model,
        steps,
        confidence: question.confidence,
        past: ForecastAccuracy::default(),
        reason: None,
    }
}

impl ForecastCandidate {
    fn steps(&self, confidence: f64) -> Vec<ForecastValue> {
        let wide = student_quantile(0.5 + confidence / 2.0, self.freedom) * self.inflation;
        let both = self.means.iter().zip(&self.deviations);
        both.map(|(value, deviation)| {
            let half = wide * deviation;
            let interval = half.is_finite().then_some((value - half, value + half));
            ForecastValue { value: *value, interval }
        })
        .collect()
    }
}

/// Backtests a model at the last positions of the series.
fn backtest(question: &ForecastRequest, model: ForecastModel) -> ForecastAccuracy {
    let series = question.series;
    let places = (series.len() / SHARE_OF_PLACES).min(MOST_PLACES);
    let mut past = ForecastAccuracy::default();
    for at in series.len() - places..series.len() {
        let one = ForecastRequest { horizon: 1, ..*question };
        if let Some(expected) = forecast_with_model(&one, &series[..at], model).steps.first() {
            past.add(expected, series[at], series[at - 1]);
        }
    }
    past
}

/// Replaces the forecast by the last value if that was closer in the backtest.
fn prefer_last_value(question: &ForecastRequest, found: Forecast) -> Forecast {
    let is_beaten = found.past.beats_last_value_by().is_some_and(|by| by < 0.0);
    if !is_beaten || found.model == ForecastModel::LastValue {
        return found;
    }
    let places =
        if found.past.count == 1 { "value".to_owned() } else { format!("{} values", found.past.count) };
    let reason = format!("the last value was closer than {} for the last {places}", found.model.name());
    let mut yielded = forecast_with_model(question, question.series, ForecastModel::LastValue);
    yielded.past = backtest(question, ForecastModel::LastValue);
    yielded.reason = Some(reason);
    yielded
}

fn constant_forecast(question: &ForecastRequest, reason: &str) -> Forecast {
    let value = question.series.last().copied().unwrap_or(f64::NAN);
    // A single value has no variation to estimate an interval from.
    let interval = (question.series.len() > 1).then_some((value, value));
    Forecast {
        model: ForecastModel::LastValue,
        steps: vec![ForecastValue { value, interval }; question.horizon],
        confidence: question.confidence,
        past: backtest(question, ForecastModel::LastValue),
        reason: Some(reason.to_owned()),
    }
}

fn line(series: &[f64], horizon: usize) -> Option<ForecastCandidate> {
    let (by, _) = slope(series, 0.9)?;
    let n = series.len() as f64;
    let (centre, middle) = (mean(series)?, (n - 1.0) / 2.0);
    let at = |place: f64| centre + by * (place - middle);
    let rest: Vec<f64> = series.iter().enumerate().map(|(place, value)| value - at(place as f64)).collect();
    let variance = rest.iter().map(|rest| rest * rest).sum::<f64>() / (n - 2.0);
    let spread = n * (n * n - 1.0) / 12.0;
    let places: Vec<f64> = (0..horizon).map(|step| n + step as f64).collect();
    let deviation = |place: &f64| (variance * (1.0 + 1.0 / n + (place - middle).powi(2) / spread)).sqrt();
    Some(ForecastCandidate {
        criterion: 0.0,
        one_step_error: arima::mean_size(&rest),
        freedom: n - 2.0,
        inflation: 1.0,
        deviations: places.iter().map(deviation).collect(),
        means: places.iter().map(|place| at(*place)).collect(),
    })
}

/// Repeats the last value; the interval comes from the changes between values.
fn last_value(series: &[f64], horizon: usize) -> Option<ForecastCandidate> {
    let changes: Vec<f64> = series.windows(2).map(|pair| pair[1] - pair[0]).collect();
    standard_deviation(&changes)?;
    let size = (changes.iter().map(|change| change * change).sum::<f64>() / changes.len() as f64).sqrt();
    Some(ForecastCandidate {
        criterion: 0.0,
        one_step_error: arima::mean_size(&changes),
        freedom: changes.len() as f64,
        inflation: 1.0,
        means: vec![*series.last()?; horizon],
        deviations: (1..=horizon).map(|steps| size * (steps as f64).sqrt()).collect(),
    })
}
