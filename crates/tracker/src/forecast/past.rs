//! How forecasts did.

use serde::{Deserialize, Serialize};

use super::Expected;

/// Forecasts beside what came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// How many.
    pub count: usize,
    /// The sum of the sizes of their errors.
    pub error: f64,
    /// The same, if the last value had been the forecast.
    pub last_value_error: f64,
    /// Forecasts that had an interval.
    pub with_interval: usize,
    /// Of them, those whose interval held what came.
    pub covered: usize,
}

impl Past {
    /// Notes a forecast, what came, and what was before.
    pub fn add(&mut self, expected: &Expected, came: f64, before: f64) {
        self.count += 1;
        self.error += (expected.value - came).abs();
        self.last_value_error += (before - came).abs();
        if let Some((low, high)) = expected.interval {
            self.with_interval += 1;
            self.covered += usize::from((low..=high).contains(&came));
        }
    }

    /// The mean error; nothing without forecasts.
    pub fn mae(&self) -> Option<f64> {
        (self.count > 0).then(|| self.error / self.count as f64)
    }

    /// The mean error of the last value.
    pub fn last_value_mae(&self) -> Option<f64> {
        (self.count > 0).then(|| self.last_value_error / self.count as f64)
    }

    /// By which share of its error this is better than the last value; negative if it is worse, nothing if neither erred.
    pub fn beats_last_value_by(&self) -> Option<f64> {
        (self.count > 0 && self.last_value_error > 0.0).then(|| 1.0 - self.error / self.last_value_error)
    }

    /// The share of intervals that held what came.
    pub fn coverage(&self) -> Option<f64> {
        (self.with_interval > 0).then(|| self.covered as f64 / self.with_interval as f64)
    }
}
