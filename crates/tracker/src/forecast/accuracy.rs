//! Accuracy of forecasts.

use serde::{Deserialize, Serialize};

use super::ForecastValue;

/// Accuracy of forecasts against actual values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ForecastAccuracy {
    /// Number of forecasts.
    pub count: usize,
    /// Sum of absolute errors.
    pub error: f64,
    /// Sum of absolute errors of the last value as forecast.
    pub last_value_error: f64,
    /// Forecasts that had an interval.
    pub with_interval: usize,
    /// Forecasts whose interval contained the actual value.
    pub covered: usize,
}

impl ForecastAccuracy {
    /// Adds a forecast, the actual value and the value before it.
    pub fn add(&mut self, expected: &ForecastValue, came: f64, before: f64) {
        self.count += 1;
        self.error += (expected.value - came).abs();
        self.last_value_error += (before - came).abs();
        if let Some((low, high)) = expected.interval {
            self.with_interval += 1;
            self.covered += usize::from((low..=high).contains(&came));
        }
    }

    /// Mean absolute error; `None` without forecasts.
    pub fn mae(&self) -> Option<f64> {
        (self.count > 0).then(|| self.error / self.count as f64)
    }

    /// Mean absolute error of the last value as forecast.
    pub fn last_value_mae(&self) -> Option<f64> {
        (self.count > 0).then(|| self.last_value_error / self.count as f64)
    }

    /// Relative improvement over the last value as forecast; negative if it is worse, `None` if that had no error.
    pub fn beats_last_value_by(&self) -> Option<f64> {
        (self.count > 0 && self.last_value_error > 0.0).then(|| 1.0 - self.error / self.last_value_error)
    }

    /// Share of intervals that contained the actual value.
    pub fn coverage(&self) -> Option<f64> {
        (self.with_interval > 0).then(|| self.covered as f64 / self.with_interval as f64)
    }
}
