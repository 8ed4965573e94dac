//! What may be spent, and what was.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Hard limits; nothing means none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// All of the time.
    pub time: Option<Duration>,
    /// Money, in the currency of the prices.
    pub cost: Option<f64>,
    /// Tokens of models.
    pub tokens: Option<u64>,
}

/// What something cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Wall time.
    pub seconds: f64,
    /// CPU time of calls.
    pub cpu_seconds: f64,
    /// Tokens of models.
    pub tokens: u64,
    /// Money; nothing if a price is unknown.
    pub money: Option<f64>,
}

impl Cost {
    /// Both together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            cpu_seconds: self.cpu_seconds + other.cpu_seconds,
            tokens: self.tokens + other.tokens,
            money: self.money.zip(other.money).map(|(one, other)| one + other),
        }
    }
}

/// What is left of the limits; nothing means that there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Left {
    /// Tokens of models.
    pub tokens: Option<u64>,
    /// Money.
    pub money: Option<f64>,
}

/// Counts what is spent against the limits.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    began: Instant,
    /// What was spent before, in an earlier part of this run.
    before: Duration,
    tokens: u64,
    money: f64,
    /// A price was unknown.
    is_unknown: bool,
    /// The longest that one step took: the next may take as long.
    longest: Duration,
}

impl Budget {
    /// From now on, after so much was spent before.
    pub fn new(limits: Limits, began: Instant, before: Duration) -> Self {
        Self { limits, began, before, tokens: 0, money: 0.0, is_unknown: false, longest: Duration::ZERO }
    }

    /// Notes what a step cost.
    pub fn spend(&mut self, cost: &Cost) {
        self.tokens += cost.tokens;
        match cost.money {
            Some(money) => self.money += money,
            None => self.is_unknown = true,
        }
        self.longest = self.longest.max(Duration::try_from_secs_f64(cost.seconds).unwrap_or(Duration::ZERO));
    }

    /// What may still be spent on models.
    pub fn left(&self) -> Left {
        Left {
            tokens: self.limits.tokens.map(|limit| limit.saturating_sub(self.tokens)),
            money: self.limits.cost.map(|limit| (limit - self.money).max(0.0)),
        }
    }

    /// What was spent on models: tokens, and money if every price is known.
    pub fn spent(&self) -> (u64, Option<f64>) {
        (self.tokens, (!self.is_unknown).then_some(self.money))
    }

    /// Notes what models cost in an earlier part of this run.
    pub fn spent_before(&mut self, tokens: u64, money: Option<f64>) {
        self.spend(&Cost { tokens, money, ..Cost::default() });
    }

    /// When all of the time is over.
    pub fn deadline(&self) -> Option<Instant> {
        let left = self.limits.time?.saturating_sub(self.before);
        self.began.checked_add(left)
    }

    /// All of the time that was spent.
    pub fn elapsed(&self, now: Instant) -> Duration {
        self.before + now.saturating_duration_since(self.began)
    }

    /// Why nothing more may be started: a limit is reached, or the next step could exceed it.
    pub fn refusal(&self, now: Instant) -> Option<String> {
        let elapsed = self.elapsed(now);
        if let Some(limit) = self.limits.time
            && elapsed + self.longest > limit
        {
            return Some(format!(
                "{:.0} s of {:.0} s are spent, and a step takes up to {:.0} s",
                elapsed.as_secs_f64(),
                limit.as_secs_f64(),
                self.longest.as_secs_f64()
            ));
        }
        if let Some(limit) = self.limits.tokens.filter(|limit| self.tokens >= *limit) {
            return Some(format!("{} of {limit} tokens are spent", self.tokens));
        }
        let limit = self.limits.cost?;
        if self.is_unknown {
            return Some("the price of a model is unknown, so that --max-cost cannot hold".into());
        }
        (self.money >= limit).then(|| format!("{:.2} of {limit:.2} are spent", self.money))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_started_that_could_exceed_a_limit() {
        let now = Instant::now();
        let limits = Limits { time: Some(Duration::from_mins(1)), ..Limits::default() };
        let mut budget = Budget::new(limits, now, Duration::from_secs(30));
        assert_eq!(budget.refusal(now + Duration::from_secs(20)), None);
        budget.spend(&Cost { seconds: 15.0, money: Some(0.0), ..Cost::default() });
        assert!(budget.refusal(now + Duration::from_secs(20)).unwrap().contains("50 s of 60 s"));
    }

    #[test]
    fn an_unknown_price_is_not_nothing() {
        let now = Instant::now();
        let limits = Limits { cost: Some(1.0), ..Limits::default() };
        let mut budget = Budget::new(limits, now, Duration::ZERO);
        budget.spend(&Cost { money: Some(0.4), ..Cost::default() });
        assert_eq!(budget.refusal(now), None);
        budget.spend(&Cost { money: None, ..Cost::default() });
        assert!(budget.refusal(now).unwrap().contains("unknown"));
    }
}
