//! Reports of forecasts.

use menace_tracker::forecast::{Forecast, ForecastAccuracy, ForecastError, ForecastRequest, forecast};
use serde::Serialize;

/// Report of a forecast.
#[derive(Debug, Clone, Serialize)]
pub struct ForecastReport {
    /// Name of the metric.
    pub metric: String,
    /// Number of values that the forecast is based on.
    pub values: usize,
    /// Name of the model.
    #[serde(rename = "model_name")]
    pub model: String,
    /// The forecast.
    #[serde(flatten)]
    pub forecast: Forecast,
    /// Mean absolute error in backtests.
    pub mae: Option<f64>,
    /// Relative improvement over the error of last-value forecasts.
    pub beats_last_value_by: Option<f64>,
    /// Share of backtest intervals that contained the actual value.
    pub coverage: Option<f64>,
    /// Accuracy of the forecasts recorded in earlier cycles.
    pub made: ForecastAccuracy,
}

/// Forecasts a series.
pub fn forecast_of(
    metric: &str,
    question: &ForecastRequest,
    made: ForecastAccuracy,
) -> Result<ForecastReport, ForecastError> {
    Ok(ForecastReport::new(metric, question.series.len(), forecast(question)?, made))
}

impl ForecastReport {
    /// Report of a forecast that is based on this number of values.
    pub fn new(metric: &str, values: usize, forecast: Forecast, made: ForecastAccuracy) -> Self {
        Self {
            metric: metric.to_owned(),
            values,
            model: forecast.model.name(),
            mae: forecast.past.mae(),
            beats_last_value_by: forecast.past.beats_last_value_by(),
            coverage: forecast.past.coverage(),
            forecast,
            made,
        }
    }

    /// One-line summary:
    /// `0.62 (90 % interval 0.58 … 0.66), model ETS(A,N,N), MAE 0.02, beats last value by 31 %`.
    pub fn summary_line(&self) -> String {
        let Some(next) = self.forecast.steps.first() else { return "no forecast".to_owned() };
        let interval = next.interval.map_or_else(
            || " (no interval: too few values)".to_owned(),
            |(low, high)| {
                format!(" ({:.0} % interval {low:.3} … {high:.3})", self.forecast.confidence * 100.0)
            },
        );
        let mae = self.mae.map_or_else(String::new, |mae| format!(", MAE {mae:.3}"));
        let yardstick = match self.beats_last_value_by {
            _ if self.model == "last value" => String::new(),
            Some(by) => format!(", beats last value by {:.0} %", by * 100.0),
            None => String::new(),
        };
        let coverage = self.coverage.map_or_else(String::new, |share| {
            format!(", {:.0} % of {} past intervals held", share * 100.0, self.forecast.past.with_interval)
        });
        let reason = self.forecast.reason.as_ref().map_or_else(String::new, |reason| format!("; {reason}"));
        format!("{:.3}{interval}, model {}{mae}{yardstick}{coverage}{reason}", next.value, self.model)
    }
}
