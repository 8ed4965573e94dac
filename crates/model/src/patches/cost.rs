//! Cost of a step of a run.

use serde::{Deserialize, Serialize};

/// Cost of one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepCost {
    /// Wall time.
    pub seconds: f64,
    /// CPU time of calls.
    pub cpu_seconds: f64,
    /// Tokens of model requests and answers.
    pub tokens: u64,
    /// Money; `None` if a price is unknown.
    pub money: Option<f64>,
}

impl StepCost {
    /// Sum of two costs; its money is unknown if either is.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            cpu_seconds: self.cpu_seconds + other.cpu_seconds,
            tokens: self.tokens + other.tokens,
            money: self.money.zip(other.money).map(|(one, other)| one + other),
        }
    }
}
