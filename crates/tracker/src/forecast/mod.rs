//! What a series will be next, and how sure one can be.
//!
//! Candidates are ARIMA and exponential smoothing; the yardstick is that nothing changes. All are asked what came next at the
//! last places of the series, with nothing but what was before. If the yardstick was closer, it is the answer.

mod arima;
mod arma;
mod ets;
mod minimise;
mod past;

#[cfg(test)]
mod forecast_tests;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use arima::Order;
pub use ets::Form;
pub use past::Past;

use crate::statistics::{is_constant, mean, slope, standard_deviation, student_quantile};

/// Values that are looked at: what was long ago says little about what comes next, and costs as much.
const LONGEST: usize = 200;
/// Fewer values are continued by a line.
const FEW: usize = 10;
/// The last places at which candidates are asked what came next, and the share of a series that these may be.
const MOST_PLACES: usize = 12;
const SHARE_OF_PLACES: usize = 3;

/// How a series is continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// A process of values or differences.
    Arima(Order),
    /// Exponential smoothing.
    Ets(Form),
    /// A line through all values: there are too few for more.
    Linear,
    /// Nothing changes.
    LastValue,
}

impl Model {
    /// How it is called.
    pub fn name(&self) -> String {
        match self {
            Self::Arima(order) => order.name(),
            Self::Ets(form) => form.name().to_owned(),
            Self::Linear => "line".to_owned(),
            Self::LastValue => "last value".to_owned(),
        }
    }
}

/// What is expected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// How it was found.
    pub model: Model,
    /// The next values.
    pub steps: Vec<Expected>,
    /// The share of cases in which a value is in its interval.
    pub confidence: f64,
    /// How the same would have done at the last places.
    pub past: Past,
    /// Why it is this model, where there was something to decide.
    pub reason: Option<String>,
}

/// One value that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The value.
    pub value: f64,
    /// Where it is, with the confidence that was asked for; nothing if there is too little to know.
    pub interval: Option<(f64, f64)>,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question<'series> {
    /// The series.
    pub series: &'series [f64],
    /// What was seen beside each value, as columns; nothing, if nothing was.
    pub beside: &'series [Vec<f64>],
    /// How many values.
    pub horizon: usize,
    /// The share of cases in which a value is to be in its interval, such as 0.9.
    pub confidence: f64,
    /// The model that was the best before, so that it does not have to be looked for again.
    pub known: Option<Model>,
}

impl<'series> Question<'series> {
    /// What comes next, with 90 %.
    pub fn next(series: &'series [f64]) -> Self {
        Self { series, beside: &[], horizon: 1, confidence: 0.9, known: None }
    }
}

/// Why nothing can be said.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ForecastError {
    /// There is nothing to continue.
    #[error("there are no values to continue")]
    Empty,
    /// A value is not finite.
    #[error("value {0} of the series is not a finite number")]
    NotFinite(usize),
    /// What was seen beside the series is not as long.
    #[error("column {0} beside the series has not as many values, or some that are not finite")]
    Beside(usize),
    /// A confidence that is none.
    #[error("a confidence is between 0 and 1, without both")]
    Confidence,
}

/// What a candidate expects.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    criterion: f64,
    one_step_error: f64,
    freedom: f64,
    inflation: f64,
    means: Vec<f64>,
    deviations: Vec<f64>,
}

/// The criterion of Akaike for short series; nothing for one that is too short for as many coefficients.
fn adjusted_criterion(likelihood: f64, coefficients: usize, values: usize) -> Option<f64> {
    let (k, n) = (coefficients as f64, values as f64);
    (n > k + 1.0 && likelihood.is_finite())
        .then(|| 2.0 * k - 2.0 * likelihood + 2.0 * k * (k + 1.0) / (n - k - 1.0))
}

/// Continues a series.
pub fn forecast(question: &Question) -> Result<Forecast, ForecastError> {
    check(question)?;
    let skipped = question.series.len().saturating_sub(LONGEST);
    let beside: Vec<Vec<f64>> = question.beside.iter().map(|column| column[skipped..].to_vec()).collect();
    let question = &Question { series: &question.series[skipped..], beside: &beside, ..*question };
    let (series, few) = (question.series, question.series.len() < FEW);
    if is_constant(series) {
        let reason = if series.len() == 1 { "there is one value" } else { "all values are the same" };
        return Ok(unchanging(question, reason));
    }
    if few {
        let mut found = expect(question, series, Model::Linear);
        found.past = past(question, Model::Linear);
        found.reason = Some(format!("{} values are too few for more", series.len()));
        return Ok(yield_to_last_value(question, found));
    }
    let model = question.known.unwrap_or_else(|| choose(series, question.beside));
    let mut found = expect(question, series, model);
    found.past = past(question, model);
    Ok(yield_to_last_value(question, found))
}

fn check(question: &Question) -> Result<(), ForecastError> {
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

/// The better of the best of both families: by how far they were from each value when they had seen those before.
/// Their criteria cannot be compared, as one of them may be of differences.
fn choose(series: &[f64], beside: &[Vec<f64>]) -> Model {
    let arima = arima::best(series, beside, 1).map(|(order, found)| (Model::Arima(order), found));
    let ets = ets::best(series, 1).map(|(form, found)| (Model::Ets(form), found));
    let both = [arima, ets].into_iter().flatten();
    let best = both.min_by(|(_, a), (_, b)| a.one_step_error.total_cmp(&b.one_step_error));
    best.map_or(Model::LastValue, |(model, _)| model)
}

/// What a model expects after a series.
fn expect(question: &Question, series: &[f64], model: Model) -> Forecast {
    let beside: Vec<Vec<f64>> =
        question.beside.iter().map(|column| column[..series.len()].to_vec()).collect();
    let candidate = match model {
        Model::Arima(order) => arima::fit(series, &beside, order, question.horizon),
        Model::Ets(form) => ets::fit(series, form, question.horizon),
        Model::Linear => line(series, question.horizon),
        Model::LastValue => last_value(series, question.horizon),
    };
    let (model, candidate) = match candidate {
        Some(candidate) => (model, Some(candidate)),
        None => (Model::LastValue, last_value(series, question.horizon)),
    };
    let steps = match candidate {
        Some(candidate) => candidate.steps(question.confidence),
        None => vec![
            Expected { value: series.last().copied().unwrap_or(f64::NAN), interval: None };
            question.horizon
        ],
    };
    Forecast { model, steps, confidence: question.confidence, past: Past::default(), reason: None }
}

impl Candidate {
    fn steps(&self, confidence: f64) -> Vec<Expected> {
        let wide = student_quantile(0.5 + confidence / 2.0, self.freedom) * self.inflation;
        let both = self.means.iter().zip(&self.deviations);
        both.map(|(value, deviation)| {
            let half = wide * deviation;
            let interval = half.is_finite().then_some((value - half, value + half));
            Expected { value: *value, interval }
        })
        .collect()
    }
}

/// How a model would have done at the last places.
fn past(question: &Question, model: Model) -> Past {
    let series = question.series;
    let places = (series.len() / SHARE_OF_PLACES).min(MOST_PLACES);
    let mut past = Past::default();
    for at in series.len() - places..series.len() {
        let one = Question { horizon: 1, ..*question };
        if let Some(expected) = expect(&one, &series[..at], model).steps.first() {
            past.add(expected, series[at], series[at - 1]);
        }
    }
    past
}

/// If nothing changing was closer at the last places, that is what is expected.
fn yield_to_last_value(question: &Question, found: Forecast) -> Forecast {
    let is_beaten = found.past.beats_last_value_by().is_some_and(|by| by < 0.0);
    if !is_beaten || found.model == Model::LastValue {
        return found;
    }
    let places =
        if found.past.count == 1 { "place".to_owned() } else { format!("{} places", found.past.count) };
    let reason = format!("the last value was closer than {} at the last {places}", found.model.name());
    let mut yielded = expect(question, question.series, Model::LastValue);
    yielded.past = past(question, Model::LastValue);
    yielded.reason = Some(reason);
    yielded
}

fn unchanging(question: &Question, reason: &str) -> Forecast {
    let value = question.series.last().copied().unwrap_or(f64::NAN);
    // One value says nothing about how much others differ from it.
    let interval = (question.series.len() > 1).then_some((value, value));
    Forecast {
        model: Model::LastValue,
        steps: vec![Expected { value, interval }; question.horizon],
        confidence: question.confidence,
        past: past(question, Model::LastValue),
        reason: Some(reason.to_owned()),
    }
}

fn line(series: &[f64], horizon: usize) -> Option<Candidate> {
    let (by, _) = slope(series, 0.9)?;
    let n = series.len() as f64;
    let (centre, middle) = (mean(series)?, (n - 1.0) / 2.0);
    let at = |place: f64| centre + by * (place - middle);
    let rest: Vec<f64> = series.iter().enumerate().map(|(place, value)| value - at(place as f64)).collect();
    let variance = rest.iter().map(|rest| rest * rest).sum::<f64>() / (n - 2.0);
    let spread = n * (n * n - 1.0) / 12.0;
    let places: Vec<f64> = (0..horizon).map(|step| n + step as f64).collect();
    let deviation = |place: &f64| (variance * (1.0 + 1.0 / n + (place - middle).powi(2) / spread)).sqrt();
    Some(Candidate {
        criterion: 0.0,
        one_step_error: arima::mean_size(&rest),
        freedom: n - 2.0,
        inflation: 1.0,
        deviations: places.iter().map(deviation).collect(),
        means: places.iter().map(|place| at(*place)).collect(),
    })
}

/// As it was; what changes from one value to the next says how sure that is.
fn last_value(series: &[f64], horizon: usize) -> Option<Candidate> {
    let changes: Vec<f64> = series.windows(2).map(|pair| pair[1] - pair[0]).collect();
    standard_deviation(&changes)?;
    let size = (changes.iter().map(|change| change * change).sum::<f64>() / changes.len() as f64).sqrt();
    Some(Candidate {
        criterion: 0.0,
        one_step_error: arima::mean_size(&changes),
        freedom: changes.len() as f64,
        inflation: 1.0,
        means: vec![*series.last()?; horizon],
        deviations: (1..=horizon).map(|steps| size * (steps as f64).sqrt()).collect(),
    })
}
